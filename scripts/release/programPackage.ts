// The npm package `punctual`: a small command, and a package for each platform with the executable. npm installs only
// the one that fits, because the packages state their platforms. There is no install script.
import { chmodSync, copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root, textOf } from "../repository.ts"
import { executableName, type Platform } from "./executables.ts"

const folderOfCommand = "packages/punctual"

const manifest: { readonly version: string; readonly license: string; readonly description: string } =
  JSON.parse(textOf(`${folderOfCommand}/package.json`))

/** npm knows nothing of `baseline`, so the names of the packages do not have it. */
export const packageName = ({ name }: Platform): string =>
  `@punctual/punctual-${name.replace("-baseline", "")}`

/** The package of one platform, made from its executable in `executables`. */
export const buildPlatformPackage = (platform: Platform, executables: string, folder: string): void => {
  emptied(folder)
  const file = platform.npm?.os === "win32" ? "punctual.exe" : "punctual"
  copyFileSync(join(executables, executableName(platform)), join(folder, file))
  chmodSync(join(folder, file), 0o755)
  const { os, cpu, libc } = platform.npm ?? {}
  writeJson(join(folder, "package.json"), {
    name: packageName(platform),
    version: manifest.version,
    description: `The executable of Punctual for ${platform.name.replace("-baseline", "")}. Install the package punctual instead.`,
    license: manifest.license,
    os: [os],
    cpu: [cpu],
    ...(libc === undefined ? {} : { libc: [libc] }),
    preferUnplugged: true,
  })
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
}

/** The package with the command. */
export const buildCommandPackage = (built: ReadonlyArray<Platform>, folder: string): void => {
  emptied(folder)
  cpSync(join(root, folderOfCommand), folder, { recursive: true })
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
  const names = built.filter(({ npm }) => npm !== undefined).map(packageName)
  const optionalDependencies = Object.fromEntries(names.map((name) => [name, manifest.version]))
  writeJson(join(folder, "package.json"), { ...manifest, optionalDependencies })
}

const emptied = (folder: string): void => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
}

const writeJson = (path: string, value: unknown): void =>
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
