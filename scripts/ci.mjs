// What CI runs: `npm test`, then `npm run test:clients`. The last line is the sum of both counts. The counts of the two
// runs get a prefix, so that only the sum stands alone on its line.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const counted = /^(\d+) passed, (\d+) failed$/

/** Runs the script of package.json and returns its count. A run without a count is one failure. */
const run = (script) =>
  new Promise((resolve) => {
    const child = spawn("npm", ["run", "--silent", script], {
      cwd: root,
      env: { ...process.env, CI: "true" },
      stdio: ["ignore", "pipe", "inherit"],
    })
    let count
    createInterface({ input: child.stdout }).on("line", (line) => {
      const match = counted.exec(line)
      if (match === null) return void process.stdout.write(`${line}\n`)
      count = { passed: Number(match[1]), failed: Number(match[2]) }
      process.stdout.write(`npm run ${script}: ${line}\n`)
    })
    child.once("close", (code) => {
      if (count === undefined)
        process.stdout.write(`npm run ${script}: it ended with code ${code}, without a count\n`)
      const known = count ?? { passed: 0, failed: 1 }
      // A run that fails without a failed test is a failure, too.
      resolve(code === 0 ? known : { passed: known.passed, failed: Math.max(1, known.failed) })
    })
  })

const counts = [await run("test"), await run("test:clients")]
const sum = (name) => counts.reduce((total, count) => total + count[name], 0)
process.stdout.write(`\n${sum("passed")} passed, ${sum("failed")} failed\n`)
process.exitCode = sum("failed") === 0 ? 0 : 1
