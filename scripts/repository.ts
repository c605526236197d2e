// Where the sources and tests of this repository are, and what they import. Only this file lists the folders. The
// sorting of tests and the house rules read it. A folder that does not exist yet counts as empty.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("..", import.meta.url))

/** The sources of the product: the service and its contract. */
export const productRoots: ReadonlyArray<string> = [
  "agent/src",
  "api/src",
  "aws/src",
  "bus/src",
  "documents/src",
  "door/src",
  "egress/src",
  "http/src",
  "sql/src",
  "server/src",
  "telemetry/src",
  "app/src",
]

/** All hand-written sources except tests. */
export const sourceRoots: ReadonlyArray<string> = [
  ...productRoots,
  "agent/testkit",
  "bus/testkit",
  "documents/testkit",
  "http/testkit",
  "server/testkit",
  "bench/src",
  "drivers",
  "scripts",
  "sdks/conformance",
  "sdks/harness",
  "sdks/typescript/src",
]

export const testRoots: ReadonlyArray<string> = [
  "agent/test",
  "api/test",
  "app/test",
  "aws/test",
  "bench/test",
  "bus/test",
  "documents/test",
  "door/test",
  "egress/test",
  "http/test",
  "scripts/test",
  "sdks/typescript/test",
  "server/test",
  "telemetry/test",
  "web/test",
]

export interface Import {
  /** The path of a file of this repository from its root, else the name of a package as in the source. */
  readonly from: string
  /** `import type`, which does not exist at run time. */
  readonly isType: boolean
}

/** The files below a folder with one of these endings, as paths from the root; none if the folder does not exist. */
export const filesBelow = (folder: string, ...endings: ReadonlyArray<string>): ReadonlyArray<string> =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter(
          (file) => !/(^|\/)node_modules\//.test(file) && endings.some((ending) => file.endsWith(ending)),
        )
        .map((file) => `${folder}/${file}`)
        .sort()
    : []

/** The folders in a folder, as paths from the root. */
export const foldersIn = (folder: string): ReadonlyArray<string> =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `${folder}/${name}`)
        .sort()
    : []

export const textOf = (path: string): string => readFileSync(join(root, path), "utf8")

/** What the file at `path` imports, re-exports, or loads later by a literal name. */
export const importsOf = (path: string, text: string): ReadonlyArray<Import> => [
  ...[...text.matchAll(/(?:^|; *)(?:import|export)( type)?\b(?: [^"']*?\bfrom)? "([^"]+)"/gm)].map(
    ([, type, specifier = ""]) => ({ from: resolve(path, specifier), isType: type !== undefined }),
  ),
  ...[...text.matchAll(/\b(?:import|require)\("([^"]+)"\)/g)].map(([, specifier = ""]) => ({
    from: resolve(path, specifier),
    isType: false,
  })),
]

const resolve = (path: string, specifier: string): string => {
  if (specifier.startsWith(".")) return normalize(join(dirname(path), specifier))
  const [, name, inner] = /^@punctual\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? []
  if (name === undefined) return specifier
  if (name === "client") return `sdks/typescript/src/${inner ?? "index"}.ts`
  if (inner === undefined) return `${name}/src/inprocess/Punctual.ts`
  return inner.startsWith("testkit/") ? `${name}/${inner}.ts` : `${name}/src/${inner}.ts`
}
