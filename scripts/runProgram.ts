// Runs one program of a check. A program that runs alone writes directly to the terminal. If it runs in parallel with
// others, a file collects its output, and this module prints the output in one piece when the program ends. So the lines
// of two programs never mix.
import { spawn } from "node:child_process"
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "./repository.ts"

export interface Program {
  readonly title: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Where the program runs; by default the root of the repository. */
  readonly folder?: string
  /** Gets the standard output. Nobody prints it. */
  readonly outputFile?: string
}

export interface Ended {
  readonly isGood: boolean
  /** How the program ended, as text for a person. */
  readonly how: string
}

/** No check takes this long. A check that reaches this limit hangs. */
const limitMs = 45 * 60_000

/** A program of `node_modules/.bin`. */
export const installed = (name: string): string => join(root, "node_modules", ".bin", name)

export const runProgram = async (program: Program, isAlone: boolean): Promise<Ended> => {
  const startedMs = performance.now()
  if (isAlone) {
    console.log(`\n── ${program.title}`)
    return start(program, "inherit")
  }
  const folder = mkdtempSync(join(tmpdir(), "punctual-output-"))
  const file = join(folder, "output")
  const output = openSync(file, "w")
  try {
    const ended = await start(program, output)
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0)
    process.stdout.write(`\n── ${program.title} (${seconds} s)\n`)
    process.stdout.write(readFileSync(file))
    return ended
  } finally {
    closeSync(output)
    rmSync(folder, { recursive: true, force: true })
  }
}

const start = (
  { command, args, env, folder = root, outputFile }: Program,
  output: number | "inherit",
): Promise<Ended> =>
  new Promise((resolve) => {
    const file = outputFile === undefined ? undefined : openSync(outputFile, "w")
    const child = spawn(command, args, {
      cwd: folder,
      // Programs that write into a file would otherwise print no colours.
      env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}), ...env },
      stdio: ["ignore", file ?? output, output],
      // The program gets its own process group. So a stop also stops everything that the program has started.
      detached: true,
    })
    // The program has a copy of its own.
    if (file !== undefined) closeSync(file)
    const { pid } = child
    if (pid !== undefined) running.add(pid)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      if (pid !== undefined) killGroup(pid)
    }, limitMs)
    const end = (isGood: boolean, how: string) => {
      clearTimeout(timer)
      if (pid !== undefined) running.delete(pid)
      resolve({ isGood, how: isLate ? `it was stopped after ${limitMs / 60_000} minutes` : how })
    }
    child.once("error", (error) => end(false, `it could not be started: ${error.message}`))
    child.once("exit", (code, signal) =>
      end(code === 0, signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`),
    )
  })

const running = new Set<number>()

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // The group has already ended.
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    for (const pid of running) killGroup(pid)
    process.exit(1)
  })
}
