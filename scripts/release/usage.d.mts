/** What `npm run release -- --help` prints. */
export declare const releaseUsage: string
