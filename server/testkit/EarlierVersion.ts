// The service as it was at an earlier commit, to run nodes of two versions on one store. Its sources come from the history
// of this clone. Its packages are those of this clone, so both commits must name the same versions of them.
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describeUnless } from "./describeUnless.ts"
import type { Program } from "./ServiceProcess.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const withinMs = 60_000

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: withinMs,
  })

/**
 * Defines tests that need an earlier commit. A clone without its history, or a copy without git, cannot have it, also in
 * CI. Then they are skipped by name.
 */
export const describeEarlier = (commit: string, name: string, body: () => void): void =>
  describeUnless(whyMissing(commit), name, body)

const whyMissing = (commit: string): string | undefined => {
  try {
    git("cat-file", "-e", `${commit}^{commit}`)
  } catch {
    return `this clone does not have commit ${commit.slice(0, 8)}: fetch the whole history`
  }
  const then = effectIn(git("show", `${commit}:server/package.json`))
  const now = effectIn(readFileSync(join(root, "server/package.json"), "utf8"))
  return then === now
    ? undefined
    : `commit ${commit.slice(0, 8)} needs effect ${then}, and this clone has ${now}`
}

const effectIn = (manifest: string): string => JSON.parse(manifest).dependencies.effect

export class EarlierVersion implements Disposable {
  readonly #folder = new TemporaryFolder()

  constructor(commit: string) {
    const { path } = this.#folder
    const archive = join(path, "sources.tar")
    git("archive", "--format=tar", `--output=${archive}`, commit)
    execFileSync("tar", ["--extract", "--file", archive, "--directory", path], { timeout: withinMs })
    linkPackages(path)
  }

  get program(): Program {
    return { command: process.execPath, args: [join(this.#folder.path, "app/src/main.ts")] }
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }
}

/** Links the packages of this clone, and the workspaces of the earlier version. */
const linkPackages = (folder: string): void => {
  const own = "@punctual"
  const modules = join(folder, "node_modules")
  mkdirSync(join(modules, own), { recursive: true })
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== own) symlinkSync(join(root, "node_modules", name), join(modules, name))
  }
  const { workspaces }: { readonly workspaces: ReadonlyArray<string> } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  )
  for (const workspace of workspaces) {
    const { name }: { readonly name: string } = JSON.parse(
      readFileSync(join(folder, workspace, "package.json"), "utf8"),
    )
    if (name.startsWith(`${own}/`)) symlinkSync(join(folder, workspace), join(modules, name))
  }
}
