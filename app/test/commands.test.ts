// The tree of commands. Every command has help, a typing mistake gets a suggestion, and the service does not load the
// tree.
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { basename, dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { run } from "../../server/test/cli/CommandFixture.ts"

const commands = [
  ["serve"],
  ["listen"],
  ...["create", "get", "list", "count", "update", "cancel"].map((name) => ["timers", name]),
  ["explain"],
  ...["list", "replay", "discard"].map((name) => ["dead", name]),
  ...["start", "get", "list", "abort"].map((name) => ["bulk", name]),
  ...["list", "get", "put"].map((name) => ["namespaces", name]),
  ["status"],
  ["health"],
  ["pause"],
  ["resume"],
  ["cluster"],
  ...["list", "reset"].map((name) => ["breakers", name]),
  ["egress", "check"],
  ["clock", "advance"],
  ["audit"],
  ...["create", "list", "get", "self", "rotate", "revoke", "revoke-leaked", "confirm", "admin"].map(
    (name) => ["keys", name],
  ),
  ["doctor"],
  ["backup"],
  ["restore"],
  ["migrate"],
  ["export"],
  ["import"],
  ...["list", "show", "replay", "discard"].map((name) => ["messages", name]),
  ["completion"],
]

describe("the tree of commands", () => {
  test("names each command in the help of the one above it", async () => {
    for (const path of commands) {
      const { exitCode, out } = await run([...path.slice(0, -1), "--help"])
      expect([path, exitCode]).toEqual([path, 0])
      expect(out).toMatch(new RegExp(`^  ${path.at(-1)} +\\S`, "m"))
    }
  })

  test("has help for each command, and opens nothing for it", async () => {
    for (const path of commands) {
      const { exitCode, out, err } = await run([...path, "--help"])
      expect([path, exitCode, err]).toEqual([path, 0, ""])
      expect(out).toContain(`punctual ${path.join(" ")} [flags]`)
      expect(out).toStartWith("DESCRIPTION\n  ")
      if (path[0] !== "serve") expect(out).toContain(`EXAMPLES\n  `)
      expect(await run(["help", ...path])).toEqual({ exitCode, out, err })
    }
    expect((await run(["serve", "--help"])).out).toContain("TIMER_HTTP_PORT")
  })

  test("takes --json for every answer, except texts in another format", async () => {
    const texts = new Set(["serve", "export", "completion"])
    for (const path of commands.filter(([name = ""]) => !texts.has(name))) {
      expect([path, (await run([...path, "--help"])).out]).toEqual([path, expect.stringContaining("--json")])
    }
  })

  test("answers unknown words with 2 and a suggestion", async () => {
    const slips = [
      [["timmers"], "Did you mean timers?", "punctual --help"],
      [["timers", "delete", "billing", "a"], "Did you mean cancel?", "punctual timers --help"],
      [["timers", "creat"], "Did you mean create?", "punctual timers --help"],
      [["timers", "count", "billing", "--stat", "dead"], "--state?", "punctual timers count --help"],
      [["serve", "--port", "1"], "--port", "punctual serve --help"],
    ] as const
    for (const [args, words, where] of slips) {
      const { exitCode, out, err } = await run(args)
      expect([args, exitCode, out]).toEqual([args, 2, ""])
      expect(err).toContain(words)
      expect(err).toEndWith(`See ${where}.\n`)
      expect(err.split("\n").length).toBe(2)
    }
  })

  test("shows on stderr the commands of a group, if none is named", async () => {
    for (const group of ["timers", "dead", "namespaces", "breakers", "clock", "messages"]) {
      const { exitCode, out, err } = await run([group])
      expect([exitCode, out, err.includes("SUBCOMMANDS")]).toEqual([2, "", true])
    }
  })
})

test("the service's start loads no part of the command line", () => {
  const loaded = loadedBy("program.ts")
  expect(loaded.has("effect")).toBe(true)
  expect([...loaded].filter((name) => name === "effect/cli" || name === "bun:sqlite")).toEqual([])
})

test("the entry loads almost nothing before it raises the limit of requests, because it starts twice", () => {
  const loaded = [...loadedBy("main.ts")].map((file) => basename(file))
  expect(loaded.sort()).toEqual([
    "Build.ts",
    "main.ts",
    "package.json",
    "raiseRequestLimit.ts",
    "runtimeRequests.ts",
  ])
})

/** What a file of the program loads at once, without `import()`. */
const loadedBy = (name: string): ReadonlySet<string> => {
  const loaded = new Set<string>()
  const reach = (file: string): void => {
    if (loaded.has(file)) return
    loaded.add(file)
    if (!file.endsWith(".ts")) return
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(staticImport)) {
      reach(resolved(file, specifier))
    }
  }
  reach(fileURLToPath(new URL(`../src/${name}`, import.meta.url)))
  return loaded
}

/** The file of a relative import, or of a package of this repository; otherwise the name of the package. */
const resolved = (file: string, specifier: string): string => {
  if (specifier.startsWith(".")) return resolve(dirname(file), specifier)
  return specifier.startsWith("@punctual/") ? Bun.resolveSync(specifier, dirname(file)) : specifier
}

/** Imports that remain when types are removed, without `import()`. */
const staticImport = /^(?:import|export) (?!type )(?:[^;"]*? from )?"([^"]+)"/gm
