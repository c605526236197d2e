// The file with the administrator's key: who makes it, what it may contain, and what a change of it does.
import { afterEach, beforeEach, expect, test } from "bun:test"
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { AdminKeyFile } from "../src/AdminKeyFile.ts"
import { idOfKey } from "../src/KeyText.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "punctual-admin-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const fileIn = () => new AdminKeyFile(join(folder, "admin.key"))
const run = Effect.runPromise

test("a missing file is made, for its owner only, with a key in it", async () => {
  const file = fileIn()
  const { key, isNew } = await run(file.readOrMake)
  expect([isNew, idOfKey(key) !== undefined]).toEqual([true, true])
  expect(statSync(file.path).mode & 0o777).toBe(0o600)
  expect(readFileSync(file.path, "utf8")).toBe(`${key}\n`)
})

test("a file that is there is read and never written", async () => {
  const file = fileIn()
  const own = "f".repeat(64)
  writeFileSync(file.path, `${own}\n`)
  expect(await run(file.readOrMake)).toEqual({ key: own, isNew: false })
  expect(readFileSync(file.path, "utf8")).toBe(`${own}\n`)
})

test("too short, too long, empty, several lines and control characters are no key, and the file stays", async () => {
  const file = fileIn()
  for (const text of [
    "",
    "short",
    "x".repeat(257),
    `${"x".repeat(40)}\n${"y".repeat(40)}`,
    `${"x".repeat(40)}\u0007`,
  ]) {
    writeFileSync(file.path, text)
    const failed = await run(Effect.flip(file.readOrMake))
    expect(failed.message).toContain("contains no key")
    expect(failed.message).toContain(file.path)
    if (text.length > 5) expect(failed.message).not.toContain(text.slice(0, 20))
    expect(readFileSync(file.path, "utf8")).toBe(text)
  }
})

test("a changed, a removed and a replaced file count as changed, an untouched one does not", async () => {
  const file = fileIn()
  await run(file.readOrMake)
  expect(await run(file.hasChanged)).toBe(false)
  writeFileSync(file.path, "a".repeat(33))
  expect(await run(file.hasChanged)).toBe(true)
  expect(await run(file.read)).toBe("a".repeat(33))
  expect(await run(file.hasChanged)).toBe(false)
  rmSync(file.path)
  expect(await run(file.hasChanged)).toBe(true)
  expect((await run(Effect.flip(file.read))).message).toContain("cannot be found")
})

test("a folder in the place of the file is refused", async () => {
  const failed = await run(Effect.flip(new AdminKeyFile(folder).read))
  expect(failed.message).toContain("contains no key")
  chmodSync(folder, 0o700)
})
