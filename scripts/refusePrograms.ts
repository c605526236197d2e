// The runner loads this file before the tests of the fast group. It makes every attempt to start a program fail. The
// sorting by imports should never put a file that starts programs into the group, and this file proves it.
import { mock } from "bun:test"
import * as childProcess from "node:child_process"

const refuse = () => {
  throw new Error(
    "a test of the fast group started a program: scripts/testGroups.ts explains how files are sorted into groups",
  )
}

const starters = ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]
const refusing = { ...childProcess, ...Object.fromEntries(starters.map((name) => [name, refuse])) }
for (const name of ["node:child_process", "child_process"]) mock.module(name, () => refusing)
Object.assign(Bun, { spawn: refuse, spawnSync: refuse, $: refuse })
