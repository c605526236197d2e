// Shows that the simulation finds faults. It removes one safeguard at a time from a copy of the service and runs seeds
// until one fails. The copy is below node_modules, so that it finds the same packages and no other tool finds it.
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { mutate, sourceOf } from "./mutate.ts"
import { type Mutation, mutations } from "./mutations.ts"

export interface Found {
  readonly mutation: Mutation
  /** How many seeds it took, counted from the first. Undefined if all seeds passed. */
  readonly seeds: number | undefined
  /** The broken promise, in short. */
  readonly broken: string
}

const server = fileURLToPath(new URL("../..", import.meta.url))
const cache = join(server, "..", "node_modules", ".cache", "punctual-mutants")

/** Runs one mutation after another. If `only` is given, runs only those whose names contain it. */
export const runMutations = (
  seedsAtMost: number,
  only: string | undefined,
  report: (found: Found) => void,
): ReadonlyArray<Found> =>
  mutations
    .filter(({ name }) => only === undefined || name.includes(only))
    .map((mutation) => {
      const found = hunt(mutation, seedsAtMost)
      report(found)
      return found
    })

const hunt = (mutation: Mutation, seedsAtMost: number): Found => {
  const copy = join(cache, mutation.name.replaceAll(" ", "-"), "server")
  rmSync(copy, { recursive: true, force: true })
  mkdirSync(copy, { recursive: true })
  try {
    for (const folder of ["src", "testkit"])
      cpSync(join(server, folder), join(copy, folder), { recursive: true })
    writeFileSync(join(copy, "src", mutation.file), mutate(sourceOf(mutation), mutation))
    const main = join(copy, "testkit", "simulation", "main.ts")
    const { stdout } = spawnSync(process.execPath, [main, "--seeds", String(seedsAtMost)], {
      encoding: "utf8",
    })
    const failed = /^seed (\d+) fails.*\n\s+broken: (.*)$/m.exec(stdout)
    const hasRunAll = new RegExp(`\\b${seedsAtMost} seeds\\b`).test(stdout)
    if (failed === null && !hasRunAll) throw new Error(`the mutant did not run:\n${stdout}`)
    return {
      mutation,
      seeds: failed === null ? undefined : Number(failed[1]),
      broken: failed?.[2] ?? "",
    }
  } finally {
    rmSync(join(copy, ".."), { recursive: true, force: true })
  }
}
