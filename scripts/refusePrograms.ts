// Loaded before the tests of the fast group: there, whatever tries to start a program fails. The sorting by imports
// should never put such a file into the group; this is the proof that it did not.
import { mock } from "bun:test"
import * as childProcess from "node:child_process"

const refuse = () => {
  throw new Error(
    "a test of the fast group started a program: see scripts/testGroups.ts for how files are sorted",
  )
}

const starters = ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]
const refusing = { ...childProcess, ...Object.fromEntries(starters.map((name) => [name, refuse])) }
for (const name of ["node:child_process", "child_process"]) mock.module(name, () => refusing)
Object.assign(Bun, { spawn: refuse, spawnSync: refuse, $: refuse })
