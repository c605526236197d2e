// How test files are sorted into groups, shown on a small repository made for the test.
import { describe, expect, test } from "bun:test"
import { GroupSorter, longestFirst, longFiles, longSuites, testFiles } from "../testGroups.ts"

const server = "server/testkit/PostgresServer.ts"

// Not written as one word, so that this file does not count as one that starts programs.
const childProcess = ["child", "process"].join("_")
const bun = "Bun"
const spawning = `import { spawn } from "node:${childProcess}"`

const groupOf = (test: string, others: Readonly<Record<string, string>> = {}): string => {
  const files: Readonly<Record<string, string>> = { "server/test/a.test.ts": test, ...others }
  return new GroupSorter((path) => files[path]).groupOf("server/test/a.test.ts")
}

describe("a test file", () => {
  test("that reaches no code that starts programs is fast", () => {
    expect(
      groupOf(`import { at } from "../testkit/at.ts"`, { "server/testkit/at.ts": "export const at = 1" }),
    ).toBe("fast")
  })

  test("that reaches a server, over any number of imports, is in the server group", () => {
    expect(
      groupOf(`import {\n  rig,\n} from "./Rig.ts"`, {
        "server/test/Rig.ts": `export * from "../testkit/PostgresServer.ts"`,
        [server]: spawning,
      }),
    ).toBe("servers")
  })

  test("that reaches a server by the name of the package is in the server group", () => {
    expect(
      groupOf(`import { PostgresServer } from "@punctual/server/testkit/PostgresServer"`, {
        [server]: spawning,
      }),
    ).toBe("servers")
  })

  test("that reaches the browser, with or without a server, is in the group of pages", () => {
    const both = { [server]: spawning, "server/testkit/Browser.ts": spawning }
    expect(groupOf(`import "../testkit/PostgresServer.ts"\nimport "../testkit/Browser.ts"`, both)).toBe(
      "pages",
    )
    expect(groupOf(`import "../testkit/Browser.ts"`, both)).toBe("pages")
  })

  test("that starts a cluster is in the group of clusters", () => {
    const cluster = {
      "server/testkit/ClusterHarness.ts": `import "./ServiceProcess.ts"`,
      "server/testkit/ServiceProcess.ts": spawning,
    }
    expect(groupOf(`import "../testkit/ClusterHarness.ts"`, cluster)).toBe("clusters")
    expect(groupOf(`import "../testkit/ServiceProcess.ts"`, cluster)).toBe("processes")
  })

  test("that can start anything else, with or without a server, is in the process group", () => {
    const both = { [server]: spawning, "server/testkit/Other.ts": `${bun}.spawn([])` }
    expect(groupOf(`import "../testkit/PostgresServer.ts"\nimport "../testkit/Other.ts"`, both)).toBe(
      "processes",
    )
    for (const start of [
      spawning,
      `import { type ChildProcess, spawn } from "${childProcess}"`,
      `const { spawn } = await import("node:${childProcess}")`,
      `const { spawn } = require("${childProcess}")`,
      `import "./b.ts"; import { spawn } from "node:${childProcess}"`,
      `import cluster from "node:cluster"`,
      `import { chromium } from "playwright-core"`,
      `${bun}.spawnSync([])`,
      `await ${bun}.$\`true\``,
    ]) {
      expect([start, groupOf(start)]).toEqual([start, "processes"])
    }
  })

  test("is not sorted by type imports, which do not exist when it runs", () => {
    expect(groupOf(`import type { ChildProcess } from "node:${childProcess}"`)).toBe("fast")
    expect(
      groupOf(`import type {\n  PostgresServer,\n} from "../testkit/PostgresServer.ts"`, {
        [server]: spawning,
      }),
    ).toBe("fast")
  })

  test("that is a long suite is in the long group, and every long suite exists", () => {
    const files = testFiles()
    for (const suite of longSuites) {
      expect(files).toContain(suite)
      expect(new GroupSorter().groupOf(suite)).toBe("long")
    }
  })

  test("can be part of a circle of imports", () => {
    expect(groupOf(`import "./b.ts"`, { "server/test/b.ts": `import "./a.test.ts"` })).toBe("fast")
  })
})

test("files that take long start first, and each of them exists", () => {
  const files = testFiles()
  const sorted = longestFirst(files)
  expect(sorted.slice(0, longFiles.length)).toEqual([...longFiles])
  expect(sorted.toSorted()).toEqual(files.toSorted())
  expect(longFiles.filter((file) => !files.includes(file))).toEqual([])
})
