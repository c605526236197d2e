// Everything that must hold before a commit: format, lint, types, all tests. The last line of its
// output counts them: `N passed, N failed`. Each static check counts as one.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const bin = (name) => join(root, "node_modules", ".bin", name)
const run = (title, command, args) => {
  console.log(`\n── ${title}`)
  return spawnSync(command, args, { cwd: root, stdio: "inherit" }).status === 0
}

let passed = 0
let failed = 0
const count = (ok) => (ok ? passed++ : failed++)

count(run("format and lint", bin("biome"), ["check", "--error-on-warnings", "."]))
count(run("types", bin("tsc"), ["--project", "tsconfig.json"]))

const folder = mkdtempSync(join(tmpdir(), "punctual-check-"))
const report = join(folder, "junit.xml")
const filters = process.argv.slice(2)
const testsRan = run("tests", bin("bun"), [
  "test",
  "--timeout=60000",
  "--reporter=junit",
  `--reporter-outfile=${report}`,
  ...filters,
])
let testsPassed = 0
let testsFailed = 0
let skipped = 0
try {
  const attributes = readFileSync(report, "utf8").match(/<testsuites\b([^>]*)>/)?.[1] ?? ""
  const number = (name) => Number(attributes.match(new RegExp(`\\b${name}="(\\d+)"`))?.[1] ?? 0)
  skipped = number("skipped")
  testsFailed = number("failures") + number("errors")
  testsPassed = number("tests") - testsFailed - skipped
} catch {
  console.error("The test run left no report: it counts as failed.")
}
rmSync(folder, { recursive: true, force: true })
passed += testsPassed
failed += testsFailed
// A run that ends badly without naming a failed test (a crash, a broken import) is a failure too.
if (!testsRan && testsFailed === 0) failed++
if (testsPassed === 0 && testsFailed === 0) failed++

if (skipped > 0) console.log(`\n${skipped} skipped: each says why above`)
console.log(`\n${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
