// What the service needs of install.mjs, which is plain JavaScript because it runs before anything is installed.

/** Installs the driver if it is missing, and says so first. Answers whether it is there now. */
export declare const installDriver: (name: string, say: (line: string) => void, drivers?: string) => boolean

/** Every driver that there is. */
export declare const driverNames: () => ReadonlyArray<string>
