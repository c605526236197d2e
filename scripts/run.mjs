// `node scripts/run.mjs NAME [arguments]`: runs a program of this repository for an npm script. It installs what is
// missing, starts the program, passes each signal on once, and ends with the program's exit code. It needs no POSIX
// shell, so the npm scripts also work on Windows.
import { spawn } from "node:child_process"
import { constants } from "node:os"
import { join } from "node:path"
import { bootstrap } from "./bootstrap.mjs"
import { root } from "./install.mjs"
import { releaseUsage } from "./release/usage.mjs"

/**
 * What each name needs (bootstrap.mjs), and the program with its first arguments. `bun` is the default program. A program
 * that needs much has its `usage` here, so that `--help` installs nothing.
 */
const programs = {
  start: { needs: ["runtime", "pages"], args: ["app/src/main.ts", "serve"] },
  agent: { needs: ["runtime", "pages"], args: ["app/src/main.ts", "agent"] },
  listen: { needs: ["runtime"], args: ["app/src/main.ts", "listen"] },
  punctual: { needs: ["runtime"], args: ["app/src/main.ts"] },
  build: { needs: ["runtime", "drivers", "pages"], program: "node", args: ["scripts/build.mjs"] },
  site: { needs: ["runtime", "pages"], args: ["scripts/site.ts"] },
  bench: { needs: [], args: ["bench/src/main.ts"] },
  soak: { needs: [], args: ["bench/src/soak/main.ts"] },
  test: { needs: [], args: ["scripts/check.ts"] },
  "test:clients": { needs: [], args: ["scripts/clients.ts"] },
  "test:matrix": { needs: [], args: ["scripts/matrix.ts"] },
  release: { needs: [], args: ["scripts/release/main.ts"], usage: releaseUsage },
  fuzz: { needs: [], args: ["scripts/fuzz.ts"] },
  simulate: { needs: [], args: ["server/testkit/simulation/main.ts"] },
  format: { needs: [], program: "biome", args: ["check", "--write", "--error-on-warnings", "."] },
}

/** npm has put node_modules/.bin on the PATH. Without npm, the files there have these places. */
const commandOf = (program) => {
  if (program === "node") return process.execPath
  if (program === "bun") return join(root, "node_modules", "bun", "bin", "bun.exe")
  return join(root, "node_modules", ".bin", process.platform === "win32" ? `${program}.cmd` : program)
}

const isWindows = process.platform === "win32"
/** A terminal sends its signals to the whole group. A program in a group of its own could not read from the terminal. */
const isAtTerminal = process.stdin.isTTY === true

/** Starts the program, and resolves with the exit code for this process. */
const run = ({ program = "bun", args }, rest) =>
  new Promise((resolve) => {
    const child = spawn(commandOf(program), [...args, ...rest], {
      cwd: root,
      stdio: "inherit",
      // In a group of its own, the program gets a signal for the group of npm only from here, and only once.
      detached: !isWindows && !isAtTerminal,
      shell: isWindows && program === "biome",
    })
    const fromTerminal = isAtTerminal ? ["SIGINT", "SIGHUP"] : []
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
      // A signal that the terminal has also sent to the program is only kept from ending this process.
      process.on(signal, () => {
        if (!fromTerminal.includes(signal)) child.kill(signal)
      })
    }
    child.once("error", (error) => {
      console.error(`${program} could not start: ${error.message}`)
      resolve(1)
    })
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })

const [name = "", ...rest] = process.argv.slice(2)
if (!Object.hasOwn(programs, name)) {
  console.error(`There is no program ${name}: use one of ${Object.keys(programs).sort().join(", ")}.`)
  process.exit(2)
}
const { needs, usage } = programs[name]
if (usage !== undefined && rest.some((word) => word === "--help" || word === "-h")) {
  console.log(usage)
  process.exit(0)
}
bootstrap(needs)
process.exit(await run(programs[name], rest))
