// The modes of files and folders, and the umask that they are created under.
import { statSync } from "node:fs"

/** In octal, as `ls` and `chmod` have it. */
export const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** The umask is the whole process's, its threads included. */
export const withUmask = async <A>(umask: number, body: () => Promise<A>): Promise<A> => {
  const before = process.umask(umask)
  try {
    return await body()
  } finally {
    process.umask(before)
  }
}
