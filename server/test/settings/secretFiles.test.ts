// Files of secrets that are no files.
import { expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { withSecretFiles } from "../../src/settings/secretFiles.ts"

test("a named pipe is refused at once, although nobody writes to it", () => {
  const folder = mkdtempSync(join(tmpdir(), "punctual-secret-"))
  try {
    const pipe = join(folder, "pipe")
    execFileSync("mkfifo", [pipe])
    const problems: Array<string> = []
    withSecretFiles({ TIMER_SECRET_KEY_FILE: pipe }, problems)
    expect(problems).toEqual([`TIMER_SECRET_KEY_FILE must name a file: ${pipe}`])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
