// Programs and files of Go modules, for tests. Go builds or downloads them once, into the cache folder of the user.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { fetchedFolder } from "./fetchedFolder.ts"

const buildWithinMs = 1_200_000

export interface GoProgram {
  /** The file that Go makes, such as `helm`. */
  readonly name: string
  /** The package and its version, such as `helm.sh/helm/v3/cmd/helm@v3.22.0`. */
  readonly from: string
}

/** The path of the program, or undefined if Go is missing or could not build it. */
export const goProgram = ({ name, from }: GoProgram): string | undefined => {
  const folder = fetchedFolder({
    name: `${name}-${versionOf(from)}`,
    withinMs: buildWithinMs,
    fill: (into) => isRun(["install", "-ldflags=-s -w", from], into) && existsSync(join(into, name)),
  })
  return folder === undefined ? undefined : join(folder, name)
}

export interface GoModuleFiles {
  /** The module and its version. */
  readonly from: string
  /** Folders of the module. */
  readonly folders: ReadonlyArray<string>
}

/** The folder with copies of these folders, or undefined if Go is missing or could not fetch the module. */
export const goModuleFiles = ({ from, folders }: GoModuleFiles): string | undefined =>
  fetchedFolder({
    name: `go-files-${from.replaceAll(/[^\w.]+/g, "-")}`,
    fill: (into) => {
      const module = downloaded(from)
      if (module === undefined) return false
      for (const folder of folders) {
        mkdirSync(join(into, folder), { recursive: true })
        cpSync(join(module, folder), join(into, folder), { recursive: true, mode: 0 })
      }
      return true
    },
  })

const versionOf = (from: string): string => from.slice(from.lastIndexOf("@v") + 2)

const isRun = (args: ReadonlyArray<string>, bin: string): boolean => {
  process.stderr.write(`The tests need a program: go ${args.join(" ")}\n`)
  try {
    execFileSync("go", args, {
      env: { ...process.env, GOBIN: bin, CGO_ENABLED: "0" },
      stdio: ["ignore", "ignore", "inherit"],
      timeout: buildWithinMs,
    })
    return true
  } catch {
    process.stderr.write(`That failed: go ${args.join(" ")}\n`)
    return false
  }
}

const downloaded = (from: string): string | undefined => {
  process.stderr.write(`The tests need files: go mod download ${from}\n`)
  try {
    const text = execFileSync("go", ["mod", "download", "-json", from], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
      timeout: buildWithinMs,
    })
    const { Dir }: { readonly Dir: string } = JSON.parse(text)
    return Dir
  } catch {
    process.stderr.write(`That failed: go mod download ${from}\n`)
    return undefined
  }
}
