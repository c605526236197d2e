// Reads a file that contains one secret, such as a key: one line, of limited length. A message never shows the content.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs"

/** No secret is this long. A longer file is not read to its end. */
const mostBytes = 16 * 1_024

/** `problem` continues a sentence that begins with the name of a setting: "names a file that does not exist". */
export type SecretRead = { readonly value: string } | { readonly problem: string }

export const readSecretFile = (path: string): SecretRead => {
  try {
    // Without O_NONBLOCK the open of a named pipe would wait for a writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!fstatSync(file).isFile()) return { problem: "must name a file" }
      const buffer = Buffer.alloc(mostBytes + 1)
      const bytes = readSync(file, buffer, 0, mostBytes + 1, 0)
      if (bytes > mostBytes) return { problem: `must name a file of at most ${mostBytes} bytes` }
      const value = buffer.toString("utf8", 0, bytes).trim()
      if (value === "") return { problem: "names an empty file" }
      return value.includes("\n") ? { problem: "must name a file with one line" } : { value }
    } finally {
      closeSync(file)
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable"
    return {
      problem: `names a file that ${code === "ENOENT" ? "does not exist" : `cannot be read (${code})`}`,
    }
  }
}
