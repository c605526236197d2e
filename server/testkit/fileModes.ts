// The modes of files and folders, and the umask under which they are created.
import { statSync } from "node:fs"

/** In octal, like `ls` and `chmod`. */
export const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** The umask belongs to the whole process, its threads included. */
export const withUmask = async <A>(umask: number, body: () => Promise<A>): Promise<A> => {
  const before = process.umask(umask)
  try {
    return await body()
  } finally {
    process.umask(before)
  }
}
