// Builds the package for the npm registry into dist/: ES modules and CommonJS, each with its types, and a package.json
// that names them. The package.json of this folder is only for the workspace: it points to the sources.
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const here = fileURLToPath(new URL(".", import.meta.url))
const root = fileURLToPath(new URL("../../", import.meta.url))

/** The subpaths of the package, and the file of each. */
export const entries = {
  ".": "index",
  "./webhooks": "webhooks",
  "./admin": "admin",
  "./testing": "testing",
} as const

/** Builds into the folder, which is emptied first. */
export const buildClient = (folder: string): void => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  compile(join(folder, "esm"), ["--module", "esnext"])
  compile(join(folder, "cjs"), ["--module", "commonjs", "--verbatimModuleSyntax", "false"])
  writeJson(join(folder, "cjs", "package.json"), { type: "commonjs" })
  for (const file of ["README.md", "CHANGELOG.md"]) cpSync(join(here, file), join(folder, file))
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
  writeJson(join(folder, "package.json"), manifest())
}

const compile = (outDir: string, args: ReadonlyArray<string>): void => {
  const project = join(here, "tsconfig.build.json")
  const { status, stdout, stderr } = spawnSync(
    join(root, "node_modules", ".bin", "tsc"),
    ["--project", project, "--outDir", outDir, ...args],
    { encoding: "utf8" },
  )
  if (status !== 0) throw new Error(`tsc failed: ${stdout}${stderr}`)
  for (const file of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts")) continue
    const path = join(outDir, file)
    // The compiler renames the imports of scripts, but not those of types.
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/(from "\.[^"]+)\.ts"/g, '$1.js"'))
  }
}

const manifest = () => {
  const { name, version, description, license } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"))
  const filesOf = (kind: string, file: string) => ({
    types: `./${kind}/${file}.d.ts`,
    default: `./${kind}/${file}.js`,
  })
  return {
    name,
    version,
    description,
    license,
    keywords: ["timer", "scheduler", "delay", "webhook", "cron", "reminder"],
    type: "module",
    sideEffects: false,
    engines: { node: ">=18" },
    main: "./cjs/index.js",
    module: "./esm/index.js",
    types: "./cjs/index.d.ts",
    exports: {
      ...Object.fromEntries(
        Object.entries(entries).map(([path, file]) => [
          path,
          { import: filesOf("esm", file), require: filesOf("cjs", file) },
        ]),
      ),
      "./package.json": "./package.json",
    },
    // For compilers that do not read `exports`.
    typesVersions: {
      "*": Object.fromEntries(
        Object.values(entries)
          .filter((file) => file !== "index")
          .map((file) => [file, [`./cjs/${file}.d.ts`]]),
      ),
    },
  }
}

const writeJson = (path: string, value: unknown): void =>
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)

if (import.meta.main) buildClient(join(here, "dist"))
