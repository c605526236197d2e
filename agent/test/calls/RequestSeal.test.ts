import { expect, test } from "bun:test"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { makeRequestSeal } from "../../src/calls/RequestSeal.ts"
import { requestKeyBeside, requestKeyFileOf } from "../../src/stores/sqlite/requestKeyFile.ts"

const key = { tenantId: "acme", serviceCallId: "call-1" }
const request = {
  method: "POST",
  url: "https://example.com/",
  headers: { authorization: "secret" },
  body: "größer",
}
const seal = makeRequestSeal(new Uint8Array(32).fill(1))

test("a sealed request opens for its own call only, and shows nothing", () => {
  const sealed = seal.seal(key, request)
  expect(seal.open(key, sealed)).toEqual(request)
  expect(seal.open({ ...key, tenantId: "other" }, sealed)).toBeUndefined()
  expect(seal.open({ ...key, serviceCallId: "call-2" }, sealed)).toBeUndefined()
  expect(makeRequestSeal(new Uint8Array(32).fill(2)).open(key, sealed)).toBeUndefined()
  expect(Buffer.from(sealed).includes("secret")).toBe(false)
  const changed = Uint8Array.from(sealed)
  changed[20] = (changed[20] ?? 0) ^ 1
  expect(seal.open(key, changed)).toBeUndefined()
  expect(seal.open(key, new Uint8Array())).toBeUndefined()
  expect(() => makeRequestSeal(new Uint8Array(16))).toThrow("32 bytes")
})

test("the key beside the store is made once, belongs to its owner, and is never replaced", () => {
  using folder = new TemporaryFolder()
  const store = join(folder.path, "data", "agent.db")
  const made = requestKeyBeside(store)
  const path = requestKeyFileOf(store)
  expect(made).toHaveLength(32)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect([...requestKeyBeside(store)]).toEqual([...made])
  writeFileSync(path, "not a key")
  expect(() => requestKeyBeside(store)).toThrow("64 hex digits")
  expect(readFileSync(path, "utf8")).toBe("not a key")
})
