// The README shows how a program carries Punctual inside it: this runs that very text.
import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

const exampleOf = (readme: string): string => {
  const [, section = ""] = readme.split("\n## Inside a program\n")
  const example = /```ts\n(.*?)```/s.exec(section)?.[1]
  if (example === undefined) throw new Error("the README has no example of use inside a program")
  return example
}

test("the example of use inside a program runs as it stands", () => {
  using folder = new TemporaryFolder()
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"))
  const file = join(folder.path, "example.ts")
  writeFileSync(file, exampleOf(readFileSync(join(root, "README.md"), "utf8")))
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: folder.path,
    encoding: "utf8",
    timeout: 30_000,
  })
  expect(stderr).toBe("")
  expect(stdout).toMatch(/^remind \{\n {2}invoice: 4711,\n\}\n1 fired\n$/)
  expect(status).toBe(0)
}, 40_000)
