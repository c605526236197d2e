#!/usr/bin/env node
// The command `punctual` of the npm package. It starts the executable that npm installed for this platform, passes
// signals on, and ends with its exit code.
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import { constants } from "node:os"
import { dirname, join } from "node:path"

const isWindows = process.platform === "win32"
const require = createRequire(import.meta.url)

/** npm installs only the packages whose platform fits, so the first one that is there is the right one. */
const findExecutable = () => {
  const { optionalDependencies = {} } = require("../package.json")
  for (const name of Object.keys(optionalDependencies)) {
    try {
      const folder = dirname(require.resolve(`${name}/package.json`))
      return join(folder, isWindows ? "punctual.exe" : "punctual")
    } catch {
      // The package is for another platform.
    }
  }
  return undefined
}

const executable = findExecutable()
if (executable === undefined) {
  process.stderr.write(
    `There is no executable for ${process.platform} ${process.arch}. If npm ran with --omit=optional, install again ` +
      "without it. Otherwise use an executable of the release, the image, or the sources.\n",
  )
  process.exit(1)
}

/** A terminal sends its signals to the executable, too. */
const fromTerminal = process.stdin.isTTY === true ? ["SIGINT", "SIGHUP"] : []
const child = spawn(executable, process.argv.slice(2), { stdio: "inherit" })
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (!fromTerminal.includes(signal)) child.kill(signal)
  })
}
child.once("error", (error) => {
  process.stderr.write(`${executable} could not start: ${error.message}\n`)
  process.exit(1)
})
child.once("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
