// The rules of the house that a machine can check. They are few, and each keeps a promise made elsewhere: the
// engine shall run in another runtime one day, the contract imports nothing but effect, the domain is pure.
import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

const sourcesBelow = (folder: string): ReadonlyArray<{ readonly path: string; readonly text: string }> =>
  readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ path: `${folder}/${file}`, text: readFileSync(`${root}${folder}/${file}`, "utf8") }))

const importsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/(?:from|import) "([^"]+)"/g)].map(([, specifier]) => specifier ?? "")

const offenders = (
  folder: string,
  isOffending: (source: { readonly path: string; readonly text: string }) => boolean,
) => sourcesBelow(folder).flatMap((source) => (isOffending(source) ? [source.path] : []))

describe("the house", () => {
  test("only adapters know the runtime", () => {
    const adapters = /^server\/src\/(stores\/(sqlite|postgres)|http\/listener|deliverers\/webhook)\//
    const isBunOnly = /\bBun\.|from "bun/
    expect(offenders("server/src", ({ path, text }) => !adapters.test(path) && isBunOnly.test(text))).toEqual(
      [],
    )
    expect(offenders("api/src", ({ text }) => isBunOnly.test(text))).toEqual([])
  })

  test("the contract imports effect and itself, nothing else", () => {
    const isAllowed = (specifier: string) => /^(effect(\/|$)|\.\/)/.test(specifier)
    expect(offenders("api/src", ({ text }) => !importsOf(text).every(isAllowed))).toEqual([])
  })

  test("the domain is pure: no clock, no chance, no I/O, no ports", () => {
    const isImpure = /Date\.now|new Date\(\)|Math\.random|performance\.now|node:fs|node:net|"\.\.\/(?!domain)/
    expect(offenders("server/src/domain", ({ text }) => isImpure.test(text))).toEqual([])
  })

  test("stages and ports do not know who implements them", () => {
    const isAdapter = (specifier: string) => /\/(stores|deliverers|http|cli)\//.test(specifier)
    for (const folder of ["server/src/engine", "server/src/ports", "server/src/domain"]) {
      expect(offenders(folder, ({ text }) => importsOf(text).some(isAdapter))).toEqual([])
    }
  })

  test("there is no room for odds and ends", () => {
    const isVague = /\/(utils?|helpers?|common|misc|types)(\.ts|\/)/
    for (const folder of ["api", "server/src", "server/testkit", "bench/src"]) {
      expect(offenders(folder, ({ path }) => isVague.test(path))).toEqual([])
    }
  })

  test("a file says at its head why it exists", () => {
    const isSilent = (text: string) => !/^(\/\/|\/\*\*)/.test(text)
    for (const folder of ["api/src", "server/src", "server/testkit", "bench/src"]) {
      expect(offenders(folder, ({ text }) => isSilent(text))).toEqual([])
    }
  })
})
