// What a release contains besides our own code: every package of the lockfiles, in the CycloneDX form that scanners
// read. Tools for tests and builds are not part of a release, so they are not listed.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { foldersIn, root, textOf } from "../repository.ts"

interface LockedPackage {
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly link?: boolean
}

interface Component {
  readonly type: "library"
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses?: ReadonlyArray<{ readonly license: { readonly id: string } }>
  readonly hashes?: ReadonlyArray<{ readonly alg: "SHA-512"; readonly content: string }>
}

/** The lockfiles of everything that is in an executable. */
const lockedFolders = (): ReadonlyArray<string> => [".", "web", ...foldersIn("drivers")]

export const billOfMaterials = (version: string): string => {
  const components = new Map<string, Component>()
  for (const folder of lockedFolders()) {
    for (const component of componentsOf(folder)) components.set(component.purl, component)
  }
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: { type: "application", name: "punctual", version } },
    components: [...components.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1)),
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

const componentsOf = (folder: string): ReadonlyArray<Component> => {
  const file = join(folder, "package-lock.json")
  if (!existsSync(join(root, file))) return []
  const { packages }: { readonly packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(
    textOf(file),
  )
  return Object.entries(packages).flatMap(([path, { version, license, integrity, dev, link }]) => {
    const name = path.split("node_modules/").at(-1) ?? ""
    const isOwn = !path.includes("node_modules/") || name.startsWith("@punctual/")
    if (isOwn || dev === true || link === true || version === undefined) return []
    return [
      {
        type: "library" as const,
        name,
        version,
        purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
        ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
        ...(integrity?.startsWith("sha512-") === true ? { hashes: [hashOf(integrity)] } : {}),
      },
    ]
  })
}

const hashOf = (integrity: string) => ({
  alg: "SHA-512" as const,
  content: Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex"),
})
