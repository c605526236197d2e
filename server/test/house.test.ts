// The rules of the house that a machine can check. Each keeps a promise made elsewhere: the engine shall run in another
// runtime one day, a new store touches its own folder, the contract imports nothing but effect. A rule lists what
// breaks it, file by file. The folders come from scripts/repository.ts and from the disk, so a new adapter or package
// is covered without an edit here.
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

// --- Today's exceptions. These lists may only shrink: an entry that is no longer needed fails the test. ---

const linesAtMost = 450

/** Files that are longer, and how long they may be at most. */
const longFiles: Readonly<Record<string, number>> = {}

/** Names that more than one file exports, and how many files do. */
const sharedNames: Readonly<Record<string, number>> = {}

/** Imports of an adapter from outside that pick no layer: what reads a setting, what starts to listen. */
const importsThatPickNothing: Readonly<Record<string, ReadonlyArray<string>>> = {
  "server/src/settings/Settings.ts": ["server/src/deliverers/webhook/Egress.ts"],
  "server/src/serve.ts": ["server/src/http/listener/Listener.ts", "server/src/peers/http/peerRoutes.ts"],
}

// --- The folders. ---

/** Each folder in these is an adapter. */
const adapterKinds = ["stores", "buses", "deliverers", "peers"].map((kind) => `server/src/${kind}`)

const adapters = [
  ...adapterKinds.flatMap(foldersIn),
  ...foldersIn("documents/src"),
  ...foldersIn("bus/src"),
  "server/src/http/listener",
]

/** Who may pick adapters. The `all.ts` of a kind lists its adapters. */
const compositionRoots = [
  "app/src/main.ts",
  "server/src/service.ts",
  "server/src/storeKeeping.ts",
  "server/src/inprocess/Punctual.ts",
  ...adapterKinds.map((kind) => `${kind}/all.ts`),
]

/** What must not know who implements it, and the folders that it must not know. */
const core = ["engine", "ports", "domain", "calls"].map((folder) => `server/src/${folder}/`)
const aroundTheCore = ["stores", "buses", "deliverers", "peers", "http", "cli", "inprocess"].map(
  (folder) => `server/src/${folder}/`,
)

// --- What the rules look at. ---

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
const tests = sourcesIn([...testRoots, "server/testkit", "documents/testkit", "bus/testkit"], ".ts")

const startsWithAny = (path: string, folders: ReadonlyArray<string>) =>
  folders.some((folder) => path.startsWith(folder))

const adapterOf = (path: string): string | undefined =>
  adapters.find((folder) => path.startsWith(`${folder}/`))

const nameOf = (folder: string): string => folder.slice(folder.lastIndexOf("/") + 1)

/** The paths of those that break a rule. */
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

const linesOf = (text: string): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0)

const exportedNames = (text: string): ReadonlySet<string> =>
  new Set(
    [
      ...text.matchAll(
        /^export (?:declare |abstract |async )*(?:const|let|class|interface|type|enum|function\*?) (\w+)/gm,
      ),
    ].map(([, name = ""]) => name),
  )

/** Adapters of one kind are built alike, and each calls its parts by the same names: whoever is in one knows what is meant. */
const areOfOneKind = (paths: ReadonlyArray<string>): boolean =>
  [...adapterKinds, "documents/src", "bus/src"].some((kind) =>
    paths.every((path) => path.startsWith(`${kind}/`) && adapterOf(path) !== undefined),
  )

/** How many files export each name; those of one file only, or of adapters of one kind, are left out. */
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
          adapterOf(path) === undefined && /\bBun\.|from "bun[":]|import\("bun[":]/.test(text),
      ),
  },
  {
    law: "adapters do not know each other, except what has the same name in another kind",
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
    law: "an import of an adapter that picks nothing is still there",
    broken: () =>
      Object.entries(importsThatPickNothing).flatMap(([path, allowed]) => {
        const found = product.find((source) => source.path === path)
        const imported = found === undefined ? [] : importsOf(path, found.text).map(({ from }) => from)
        return allowed.filter((from) => !imported.includes(from)).map((from) => `${path} imports ${from}`)
      }),
  },
  {
    law: "engine, ports, domain and calls do not know who implements or calls them",
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
    law: "the bus knows no product: it imports effect, the contract's words, drivers and itself",
    broken: () =>
      importsWhere(
        product,
        (path, from) =>
          path.startsWith("bus/") && !/^(?:effect(?:\/|$)|node:|api\/src\/|bus\/src\/|drivers\/)/.test(from),
      ),
  },
  {
    law: "the domain is pure: no clock, no chance, no I/O, no ports",
    broken: () =>
      pathsOf(
        product,
        ({ path, text }) =>
          path.startsWith("server/src/domain/") &&
          /Date\.now|new Date\(\)|Math\.random|performance\.now|node:fs|node:net|"\.\.\/(?!domain)/.test(
            text,
          ),
      ),
  },
  {
    law: "no product knows the program that it is part of",
    broken: () => importsWhere(product, (path, from) => !path.startsWith("app/") && from.startsWith("app/")),
  },
  {
    law: "one style of privacy: #",
    broken: () =>
      pathsOf([...sources, ...tests], ({ text }) => /^\s+(?:private|protected) (?!constructor)/m.test(text)),
  },
  {
    law: "there is no room for odds and ends",
    broken: () =>
      pathsOf([...sources, ...tests], ({ path }) =>
        /\/(utils?|helpers?|common|misc|types)(\.|\/)/.test(path),
      ),
  },
  {
    law: "a file says at its head why it exists",
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
    law: "a file that may be longer still is",
    broken: () =>
      Object.keys(longFiles).filter((path) => {
        const file = sources.find((source) => source.path === path)
        return file === undefined || linesOf(file.text) <= linesAtMost
      }),
  },
  {
    law: "a skip names its reason, and nothing is left for later: no skipIf, todo or only",
    broken: () =>
      pathsOf(tests, ({ text }) => /\b(?:test|describe|it)\.(?:skipIf|todoIf|todo|only|if)\(/.test(text)),
  },
  {
    law: "a test of processes is in the group that runs alone",
    broken: () => {
      const sorter = new GroupSorter()
      return testFiles().filter((file) => /\/process\//.test(file) && sorter.groupOf(file) !== "processes")
    },
  },
  {
    law: "what is listed as starting servers can start programs",
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

  test("a name is exported by one file: whoever reads it knows what is meant", () => {
    expect(namesInMoreThanOneFile()).toEqual(sharedNames)
  })

  test("no exported name hides one of the language's", () => {
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

  test("the picture of the rooms is what the imports say", () => {
    const text = textOf("ARCHITECTURE.md")
    expect(text).toBe(documentWith(text, importGraph()))
  })

  test("the rules look at something: every root of the product and every kind of adapter is found", () => {
    expect(productRoots.filter((folder) => product.some(({ path }) => path.startsWith(folder)))).toContain(
      "server/src",
    )
    for (const kind of adapterKinds) expect(foldersIn(kind)).not.toEqual([])
    for (const folder of ["server/src/http/listener", "server/src/stores/sqlite"]) {
      expect(adapters).toContain(folder)
      expect(product.some(({ path }) => adapterOf(path) === folder)).toBe(true)
    }
  })
})
