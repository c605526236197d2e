// What the service needs of install.mjs, which is plain JavaScript because it runs before anything is installed.

/** Installs the driver if it is missing, and says so first. Answers whether it is there now. */
export declare const installDriver: (name: string, say: (line: string) => void, drivers?: string) => boolean

/** Every driver that there is. */
export declare const driverNames: () => ReadonlyArray<string>

/** The stamp of a folder in which everything from its lockfile is installed. */
export declare const stampOf: (folder: string) => string

/** Installs what the lockfile of the folder names, unless one of the stamps is there. Answers whether it is there now. */
export declare const ensureInstalled: (
  folder: string,
  options: {
    readonly stamps: ReadonlyArray<string>
    readonly say: (line: string) => void
    readonly what: string
  },
) => boolean
