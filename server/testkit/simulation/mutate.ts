// Removes one safeguard from a source. It starts no process, so tests that only check whether a mutation still fits can
// run beside other tests.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Mutation } from "./mutations.ts"

const server = fileURLToPath(new URL("../..", import.meta.url))

export const sourceOf = ({ file }: Mutation): string => readFileSync(join(server, "src", file), "utf8")

/** The source without the safeguard. The safeguard must occur in it exactly once. */
export const mutate = (source: string, { name, file, search, replacement }: Mutation): string => {
  const parts = source.split(search)
  if (parts.length !== 2)
    throw new Error(`"${name}" is found ${parts.length - 1} times in ${file}, not once: ${search}`)
  return parts.join(replacement)
}
