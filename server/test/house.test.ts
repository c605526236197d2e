// The rules of the house that a machine can check. Each rule keeps a promise that is made elsewhere: the engine must
// run in another runtime one day, a new store touches only its own folder, and the contract imports only effect. A rule
// lists the files that break it. The folders come from scripts/repository.ts and from the disk, so a new adapter or
// package is covered without an edit here.
import { describe, expect, test } from "bun:test"
import { circleIn, documentWith, importGraph } from "../../scripts/importGraph.ts"
import {
  filesBelow,
  foldersIn,
  importsOf,
  productRoots,
  sourceRoots,
  testRoots,
  textOf,
} from "../../scripts/repository.ts"
import { GroupSorter, serverStarters, testFiles } from "../../scripts/testGroups.ts"

// --- Current exceptions. These lists may only shrink: an entry that is no longer needed fails the test. ---

const linesAtMost = 450

/** Files that are longer, and how long they may be at most. */
const longFiles: Readonly<Record<string, number>> = {}

/** Names that more than one file exports, and how many files do. */
const sharedNames: Readonly<Record<string, number>> = {}

/** Imports of an adapter from outside that pick no layer: they start to listen, or read chunks as the listener does. */
const importsThatPickNothing: Readonly<Record<string, ReadonlyArray<string>>> = {
  "agent/src/AgentDoor.ts": ["http/src/listener/Listener.ts"],
  "http/src/client/AnswerHead.ts": ["http/src/listener/RequestHead.ts"],
  "http/src/client/AnswerReader.ts": ["http/src/listener/BadRequest.ts", "http/src/listener/ChunkedBody.ts"],
  "server/src/serve.ts": ["http/src/listener/Listener.ts", "server/src/peers/http/peerRoutes.ts"],
}

/** Files outside the adapters that know the runtime. Each has one function, and its users can replace it. */
const runtimeFiles: ReadonlyArray<string> = [
  "egress/src/systemLookup.ts",
  "http/src/client/openSocket.ts",
  // A temporary file, for stores that cannot show many rows as of one instant.
  "server/src/stores/ArchiveCopy.ts",
]

// --- Folders. ---

/** Each folder in these is an adapter. */
const adapterKinds = [
  ...["stores", "buses", "deliverers", "peers"].map((kind) => `server/src/${kind}`),
  ...["stores", "callers"].map((kind) => `agent/src/${kind}`),
]

const adapters = [
  ...adapterKinds.flatMap(foldersIn),
  ...foldersIn("documents/src"),
  ...foldersIn("bus/src"),
  "http/src/listener",
]

/** The files that may pick adapters. The `all.ts` of a kind lists its adapters. */
const compositionRoots = [
  "agent/src/agent.ts",
  "app/src/program.ts",
  "server/src/service.ts",
  "server/src/storeKeeping.ts",
  "server/src/inprocess/Punctual.ts",
  ...adapterKinds.map((kind) => `${kind}/all.ts`),
]

/** The folders that must not know their implementations, and the folders that they must not know. */
const core = [
  ...["engine", "ports", "domain", "bulk", "calls"].map((folder) => `server/src/${folder}/`),
  ...["ports", "domain", "calls", "orchestration", "outbox", "execution"].map(
    (folder) => `agent/src/${folder}/`,
  ),
]
const aroundTheCore = [
  ...["stores", "buses", "deliverers", "peers", "http", "cli", "inprocess"].map(
    (folder) => `server/src/${folder}/`,
  ),
  ...["stores", "callers", "http"].map((folder) => `agent/src/${folder}/`),
]

// --- The sources that the rules check. ---

interface Source {
  readonly path: string
  readonly text: string
}

const sourcesIn = (
  folders: ReadonlyArray<string>,
  ...endings: ReadonlyArray<string>
): ReadonlyArray<Source> =>
  folders.flatMap((folder) => filesBelow(folder, ...endings)).map((path) => ({ path, text: textOf(path) }))

const product = sourcesIn(productRoots, ".ts")
const sources = sourcesIn(sourceRoots, ".ts", ".mjs")
const tests = sourcesIn(
  [...testRoots, "agent/testkit", "server/testkit", "documents/testkit", "bus/testkit", "http/testkit"],
  ".ts",
)

const startsWithAny = (path: string, folders: ReadonlyArray<string>) =>
  folders.some((folder) => path.startsWith(folder))

const adapterOf = (path: string): string | undefined =>
  adapters.find((folder) => path.startsWith(`${folder}/`))

const nameOf = (folder: string): string => folder.slice(folder.lastIndexOf("/") + 1)

/** The paths of the sources that break a rule. */
const pathsOf = (all: ReadonlyArray<Source>, isBroken: (source: Source) => boolean): ReadonlyArray<string> =>
  all.filter(isBroken).map(({ path }) => path)

/** `file imports file`, for each import that breaks a rule. */
const importsWhere = (
  all: ReadonlyArray<Source>,
  isBroken: (path: string, from: string, isType: boolean) => boolean,
): ReadonlyArray<string> =>
  all.flatMap(({ path, text }) =>
    importsOf(path, text)
      .filter(({ from, isType }) => isBroken(path, from, isType))
      .map(({ from }) => `${path} imports ${from}`),
  )

const knowsRuntime = (text: string): boolean => /\bBun\.|from "bun[":]|import\("bun[":]/.test(text)

const linesOf = (text: string): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0)

const exportedNames = (text: string): ReadonlySet<string> =>
  new Set(
    [
      ...text.matchAll(
        /^export (?:declare |abstract |async )*(?:const|let|class|interface|type|enum|function\*?) (\w+)/gm,
      ),
    ].map(([, name = ""]) => name),
  )

/** Adapters of one kind have the same structure and use the same names for their parts, so their names may repeat. */
const areOfOneKind = (paths: ReadonlyArray<string>): boolean =>
  [...adapterKinds, "documents/src", "bus/src"].some((kind) =>
    paths.every((path) => path.startsWith(`${kind}/`) && adapterOf(path) !== undefined),
  )

/** How many files export each name, without names of one file only or of adapters of one kind. */
const namesInMoreThanOneFile = (): Record<string, number> => {
  const files = new Map<string, Array<string>>()
  for (const { path, text } of product) {
    for (const name of exportedNames(text)) files.set(name, [...(files.get(name) ?? []), path])
  }
  return Object.fromEntries(
    [...files]
      .filter(([, paths]) => paths.length > 1 && !areOfOneKind(paths))
      .map(([name, paths]) => [name, paths.length]),
  )
}

const isAllowedOutside = (path: string, from: string): boolean =>
  compositionRoots.includes(path) || (importsThatPickNothing[path] ?? []).includes(from)

// --- The rules. ---

interface Rule {
  readonly law: string
  readonly broken: () => ReadonlyArray<string>
}

const rules: ReadonlyArray<Rule> = [
  {
    law: "only adapters know the runtime",
    broken: () =>
      pathsOf(
        product,
        ({ path, text }) =>
          adapterOf(path) === undefined && !runtimeFiles.includes(path) && knowsRuntime(text),
      ),
  },
  {
    law: "every listed file that knows the runtime still does",
    broken: () =>
      runtimeFiles.filter((path) => !product.some((file) => file.path === path && knowsRuntime(file.text))),
  },
  {
    law: "adapters do not know each other, except adapters of the same name in another kind",
    broken: () =>
      importsWhere(product, (path, from) => {
        const [own, other] = [adapterOf(path), adapterOf(from)]
        return own !== undefined && other !== undefined && own !== other && nameOf(own) !== nameOf(other)
      }),
  },
  {
    law: "only composition roots pick adapters",
    broken: () =>
      importsWhere(
        product,
        (path, from, isType) =>
          !isType &&
          adapterOf(from) !== undefined &&
          adapterOf(path) === undefined &&
          !isAllowedOutside(path, from),
      ),
  },
  {
    law: "every listed import that picks no adapter still exists",
    broken: () =>
      Object.entries(importsThatPickNothing).flatMap(([path, allowed]) => {
        const found = product.find((source) => source.path === path)
        const imported = found === undefined ? [] : importsOf(path, found.text).map(({ from }) => from)
        return allowed.filter((from) => !imported.includes(from)).map((from) => `${path} imports ${from}`)
      }),
  },
  {
    law: "engine, ports, domain and calls do not know their implementations or callers",
    broken: () =>
      importsWhere(
        product,
        (path, from) =>
          startsWithAny(path, core) && (startsWithAny(from, aroundTheCore) || adapterOf(from) !== undefined),
      ),
  },
  {
    law: "the contract imports effect and itself, nothing else",
    broken: () =>
      importsWhere(
        product,
        (path, from) => path.startsWith("api/") && !/^effect(\/|$)|^api\/src\//.test(from),
      ),
  },
  {
    law: "the bus does not know the product: it imports effect, the contract's words, drivers and itself",
    broken: () =>
      importsWhere(
        product,
        (path, from) =>
          path.startsWith("bus/") && !/^(?:effect(?:\/|$)|node:|api\/src\/|bus\/src\/|drivers\/)/.test(from),
      ),
  },
  {
    law: "http, egress, sql and aws do not know the product: they import effect, the contract's words, the door and themselves",
    broken: () =>
      importsWhere(
        product,
        (path, from) =>
          /^(?:http|egress|sql|aws)\//.test(path) &&
          !from.startsWith(path.slice(0, path.indexOf("/src/") + 5)) &&
          !/^(?:effect(?:\/|$)|node:|api\/src\/|door\/src\/)/.test(from),
      ),
  },
  {
    law: "telemetry does not know the product: it imports effect, the contract's words, egress and itself",
    broken: () =>
      importsWhere(
        product,
        (path, from) =>
          path.startsWith("telemetry/") &&
          !/^(?:effect(?:\/|$)|node:|(?:api|egress|telemetry)\/src\/)/.test(from),
      ),
  },
  {
    law: "the agent does not know the inside of the Timer: it imports shared packages and itself",
    broken: () =>
      importsWhere(
        product,
        (path, from) =>
          path.startsWith("agent/") &&
          !/^(?:effect(?:\/|$)|node:|bun(?::|$)|(?:agent|api|aws|bus|documents|door|egress|http|sql|telemetry)\/src\/)/.test(
            from,
          ),
      ),
  },
  {
    law: "the client library imports itself, and only its help for tests imports modules of Node",
    broken: () =>
      importsWhere(sources, (path, from) => {
        if (!path.startsWith("sdks/typescript/src/")) return false
        const isOfTesting = path.startsWith("sdks/typescript/src/testing/")
        return !from.startsWith("sdks/typescript/src/") && !(isOfTesting && from.startsWith("node:"))
      }),
  },
  {
    law: "the domain is pure: no clock, no randomness, no I/O, no ports",
    broken: () =>
      pathsOf(
        product,
        ({ path, text }) =>
          /^(?:server|agent)\/src\/domain\//.test(path) &&
          /Date\.now|new Date\(\)|Math\.random|performance\.now|node:fs|node:net|"\.\.\/(?!domain)/.test(
            text,
          ),
      ),
  },
  {
    law: "no package knows the program that it is part of",
    broken: () => importsWhere(product, (path, from) => !path.startsWith("app/") && from.startsWith("app/")),
  },
  {
    law: "private members use #",
    broken: () =>
      pathsOf([...sources, ...tests], ({ text }) => /^\s+(?:private|protected) (?!constructor)/m.test(text)),
  },
  {
    law: "no file or folder is named utils, helpers, common, misc or types",
    broken: () =>
      pathsOf([...sources, ...tests], ({ path }) =>
        /\/(utils?|helpers?|common|misc|types)(\.|\/)/.test(path),
      ),
  },
  {
    law: "a file says at its top why it exists",
    broken: () => pathsOf(sources, ({ text }) => !/^(\/\/|\/\*\*)/.test(text)),
  },
  {
    law: `no file is longer than ${linesAtMost} lines`,
    broken: () =>
      sourcesIn(sourceRoots, ".ts", ".mjs", ".sql", ".cql")
        .map(({ path, text }) => ({ path, lines: linesOf(text), atMost: longFiles[path] ?? linesAtMost }))
        .filter(({ lines, atMost }) => lines > atMost)
        .map(({ path, lines, atMost }) => `${path} has ${lines} lines, of at most ${atMost}`),
  },
  {
    law: "every file that may be longer still is longer",
    broken: () =>
      Object.keys(longFiles).filter((path) => {
        const file = sources.find((source) => source.path === path)
        return file === undefined || linesOf(file.text) <= linesAtMost
      }),
  },
  {
    law: "a skip names its reason, and there is no skipIf, todo or only",
    broken: () =>
      pathsOf(tests, ({ text }) => /\b(?:test|describe|it)\.(?:skipIf|todoIf|todo|only|if)\(/.test(text)),
  },
  {
    law: "a test of processes runs at the end, beside few others",
    broken: () => {
      const sorter = new GroupSorter()
      const isAtEnd = (file: string) => ["clusters", "processes"].includes(sorter.groupOf(file))
      return testFiles().filter((file) => /\/process\//.test(file) && !isAtEnd(file))
    },
  },
  {
    law: "the thread of a store starts fast: it does not load Effect",
    broken: () => {
      const sorter = new GroupSorter()
      const threads = product.filter(({ path }) => path.endsWith("/worker.ts"))
      expect(threads.length).toBeGreaterThan(1)
      const reached = new Set(threads.flatMap(({ path }) => sorter.filesReachedBy(path)))
      const loadsEffect = ({ path, text }: Source) =>
        importsOf(path, text).some(({ from, isType }) => !isType && /^effect($|\/)/.test(from))
      return product
        .filter((source) => reached.has(source.path) && loadsEffect(source))
        .map(({ path }) => path)
    },
  },
  {
    law: "every listed server starter can start programs",
    broken: () => {
      const sorter = new GroupSorter()
      return serverStarters.filter((path) => !sorter.canStartPrograms(path))
    },
  },
]

describe("the house", () => {
  for (const { law, broken } of rules) {
    test(law, () => {
      expect(broken()).toEqual([])
    })
  }

  test("only one file exports a name, so that the name has one meaning", () => {
    expect(namesInMoreThanOneFile()).toEqual(sharedNames)
  })

  test("no exported name hides a name of the language", () => {
    const globals = new Set(Object.getOwnPropertyNames(globalThis).filter((name) => /^[A-Z]/.test(name)))
    globals.add("Record").add("Partial").add("Pick").add("Omit")
    const hiding = product.flatMap(({ path, text }) =>
      [...exportedNames(text)].filter((name) => globals.has(name)).map((name) => `${path} exports ${name}`),
    )
    expect(hiding).toEqual([])
  })

  test("rooms do not import each other in a circle", () => {
    expect(circleIn(importGraph())).toBeUndefined()
  })

  test("the picture of the rooms matches the imports", () => {
    const text = textOf("ARCHITECTURE.md")
    expect(text).toBe(documentWith(text, importGraph()))
  })

  test("the rules check real files: they find every root of the product and every kind of adapter", () => {
    expect(productRoots.filter((folder) => product.some(({ path }) => path.startsWith(folder)))).toContain(
      "server/src",
    )
    for (const kind of adapterKinds) expect(foldersIn(kind)).not.toEqual([])
    for (const folder of ["http/src/listener", "server/src/stores/sqlite"]) {
      expect(adapters).toContain(folder)
      expect(product.some(({ path }) => adapterOf(path) === folder)).toBe(true)
    }
  })
})
