// Packages of the npm registry that are made from parts of this workspace: JavaScript and types in the same folders as
// the sources. Files of other workspaces that a package needs are inside it, so that a user installs one package.
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { filesBelow, importsOf, root, textOf } from "../repository.ts"

export interface Library {
  /** The folder of the workspace, such as `server`. Its package.json has the name, the version and the description. */
  readonly workspace: string
  /** Source files whose imports are followed. */
  readonly entries: ReadonlyArray<string>
  /** The subpaths of the package and their source files. `*` stands for any name. */
  readonly exports: Readonly<Record<string, string>>
  /** Files that are copied unchanged: documents, and what the program reads by its path. */
  readonly copied: ReadonlyArray<string>
  /** Workspaces that are packages of their own. */
  readonly apart: ReadonlyArray<string>
  readonly engines: Readonly<Record<string, string>>
  readonly keywords: ReadonlyArray<string>
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
}

export const manifestOf = (workspace: string): Manifest => JSON.parse(textOf(`${workspace}/package.json`))

/** Builds the package into the folder, which is emptied first. */
export const buildLibrary = (library: Library, folder: string): void => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const files = reachedBy(library)
  compile(
    files.filter((file) => file.endsWith(".ts")),
    folder,
  )
  const others = files.filter((file) => !file.endsWith(".ts"))
  for (const file of [...others, ...driverFiles(files), ...library.copied, "LICENSE"]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file), { recursive: true })
  }
  for (const file of files.filter((file) => file.endsWith(".ts"))) rewrite(file, library, folder)
  const manifest = packageJson(library, files)
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
}

/** The entries and everything that they import, directly or through others, at run time or for their types. */
const reachedBy = ({ entries, apart }: Library): ReadonlyArray<string> => {
  const reached = new Set(entries)
  // The loop also visits the files that are added to the set while it runs.
  for (const path of reached) {
    if (!/\.m?[jt]s$/.test(path)) continue
    for (const { from } of importsOf(path, textOf(path))) {
      const file = sourceOf(from)
      if (file !== undefined && !apart.some((workspace) => file.startsWith(`${workspace}/`)))
        reached.add(file)
    }
  }
  return [...reached].sort()
}

/** What installs the drivers among the files. The npm registry takes no .npmrc, which only keeps hosts out of lockfiles. */
const driverFiles = (files: ReadonlyArray<string>): ReadonlyArray<string> => {
  const drivers = new Set(files.flatMap((file) => /^drivers\/[^/]+/.exec(file)?.[0] ?? []))
  return [...drivers].flatMap((driver) => [`${driver}/package.json`, `${driver}/package-lock.json`])
}

/** The file of this repository that an import names; undefined for packages. */
const sourceOf = (from: string): string | undefined =>
  [from, from.replace(/\.ts$/, "")].find((path) => path.includes("/") && existsSync(join(root, path)))

const compile = (files: ReadonlyArray<string>, folder: string): void => {
  const declarations = ["agent", "http", "server"].flatMap((name) => filesBelow(`${name}/src`, ".d.ts"))
  const project = join(folder, "tsconfig.json")
  const options = {
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: root,
    outDir: folder,
    typeRoots: [join(root, "node_modules/@types")],
  }
  const paths = [...files, ...declarations].map((file) => join(root, file))
  const config = { extends: join(root, "tsconfig.json"), compilerOptions: options, include: [], files: paths }
  writeFileSync(project, JSON.stringify(config))
  const tsc = join(root, "node_modules/.bin/tsc")
  const { status, stdout, stderr } = spawnSync(tsc, ["--project", project], { encoding: "utf8" })
  rmSync(project)
  if (status !== 0) throw new Error(`tsc failed: ${stdout}${stderr}`)
}

/**
 * The compiler renames the relative imports of scripts, but not those of types, not addresses of files, and not imports
 * of workspaces that are inside the package.
 */
const rewrite = (source: string, { apart }: Library, folder: string): void => {
  for (const ending of [".js", ".d.ts"]) {
    const path = source.replace(/\.ts$/, ending)
    const file = join(folder, path)
    if (!existsSync(file)) continue
    const text = readFileSync(file, "utf8")
      .replaceAll(/((?:from|import\(|import) ?"\.[^"]+)\.ts"/g, '$1.js"')
      .replaceAll(/(new URL\("[^"]+)\.ts"/g, '$1.js"')
      .replaceAll(/"@punctual\/([a-z]+)\/([^"]+)"/g, (whole, workspace: string, inner: string) => {
        if (apart.includes(workspace)) return whole
        const target = `${workspace}/src/${inner}`
        const isScript = existsSync(join(root, `${target}.ts`))
        const relative = posix.relative(posix.dirname(path), isScript ? `${target}.js` : target)
        return `"${relative.startsWith(".") ? relative : `./${relative}`}"`
      })
    writeFileSync(file, text)
  }
}

const packageJson = (library: Library, files: ReadonlyArray<string>) => {
  const { name, version, description, license } = manifestOf(library.workspace)
  const emitted = (source: string) => {
    const path = source.replace(/\.ts$/, "")
    return { types: `./${path}.d.ts`, default: `./${path}.js` }
  }
  return {
    name,
    version,
    description,
    license,
    keywords: library.keywords,
    type: "module",
    engines: library.engines,
    exports: {
      ...Object.fromEntries(Object.entries(library.exports).map(([path, file]) => [path, emitted(file)])),
      "./package.json": "./package.json",
    },
    dependencies: dependenciesOf(library, files),
  }
}

/** The packages that the files import, in the versions of the workspace. */
const dependenciesOf = ({ workspace, apart }: Library, files: ReadonlyArray<string>) => {
  const known = manifestOf(workspace).dependencies
  const imported = files
    .filter((file) => file.endsWith(".ts") && !file.startsWith("drivers/"))
    .flatMap((file) => importsOf(file, textOf(file)).map(({ from }) => from))
  const names = [...imported.map((from) => from.split("/")[0] ?? ""), ...apart.map((name) => name)]
  const needed = Object.entries(known).filter(([name]) =>
    names.some((used) => name === used || (name === `@punctual/${used}` && apart.includes(used))),
  )
  return Object.fromEntries(needed)
}
