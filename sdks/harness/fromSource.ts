// The service of this repository as one executable file, for `TestService` and PUNCTUAL_EXECUTABLE.
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const main = fileURLToPath(new URL("../../app/src/main.ts", import.meta.url))

/** Writes the file into the folder and returns its path. */
export const executableIn = (folder: string): string => {
  const path = join(folder, "punctual")
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  chmodSync(path, 0o755)
  return path
}
