// What CI runs: `npm test`, then `npm run test:clients`. The last line is the sum of both counts. The counts of the two
// runs get a prefix, so that only the sum stands alone on its line. The failures and the unsteady tests of both runs
// stand before the sum once more, because a log may keep only its end.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const counted = /^(\d+) passed, (\d+) failed$/
const reported = /^── (?:failed|unsteady)/
const mostReportedLines = 200

/** Runs the script of package.json and returns its count and its list of failures. A run without a count is one failure. */
const run = (script) =>
  new Promise((resolve) => {
    const child = spawn("npm", ["run", "--silent", script], {
      cwd: root,
      env: { ...process.env, CI: "true" },
      stdio: ["ignore", "pipe", "inherit"],
    })
    let count
    const report = []
    createInterface({ input: child.stdout }).on("line", (line) => {
      const match = counted.exec(line)
      if (match === null) {
        // The lists are the last part before the count.
        if (report.length > 0 || reported.test(line)) report.push(line)
        return void process.stdout.write(`${line}\n`)
      }
      count = { passed: Number(match[1]), failed: Number(match[2]) }
      process.stdout.write(`npm run ${script}: ${line}\n`)
    })
    child.once("close", (code) => {
      if (count === undefined) report.push(`npm run ${script}: it ended with code ${code}, without a count`)
      const known = count ?? { passed: 0, failed: 1 }
      // A run that fails without a failed test is a failure, too.
      const failed = code === 0 ? known.failed : Math.max(1, known.failed)
      resolve({ passed: known.passed, failed, report: report.slice(0, mostReportedLines) })
    })
  })

const runs = [await run("test"), await run("test:clients")]
const sum = (name) => runs.reduce((total, run) => total + run[name], 0)
for (const { report } of runs) if (report.length > 0) process.stdout.write(`\n${report.join("\n")}\n`)
process.stdout.write(`\n${sum("passed")} passed, ${sum("failed")} failed\n`)
process.exitCode = sum("failed") === 0 ? 0 : 1
