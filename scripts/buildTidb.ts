// Builds the TiDB server of the tests: `bun scripts/buildTidb.ts`. It needs Go, and takes 20 to 60 minutes, so the tests do
// not do it by themselves. TiDB publishes no module of its server, so the source of one exact version is taken out of the
// module cache, with the parser of the same commit, which is a module of its own.
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { tidbFolder } from "../server/testkit/MysqlServer.ts"

const commit = "20241014034929-94b2ac04a0c4"
const server = `github.com/pingcap/tidb@v1.1.0-beta.0.${commit}`
const parser = `github.com/pingcap/tidb/pkg/parser@v0.0.0-${commit}`

const place = tidbFolder()
const result = join(place, "tidb-server")

const build = (): void => {
  const work = join(tmpdir(), "tidb-build")
  const folders = ["modules", "cache", "tmp", "fetch"].map((name) => join(work, name))
  for (const folder of folders) mkdirSync(folder, { recursive: true })
  const [modules = "", cache = "", temporary = "", fetch = ""] = folders
  const env = {
    ...process.env,
    GOMODCACHE: modules,
    GOCACHE: cache,
    GOTMPDIR: temporary,
    GOFLAGS: "-mod=mod -modcacherw",
    GOTOOLCHAIN: "local",
  }
  const go = (cwd: string, ...args: ReadonlyArray<string>) =>
    execFileSync("nice", ["-n", "19", "go", ...args], { cwd, env, stdio: ["ignore", "inherit", "inherit"] })
  writeFileSync(join(fetch, "go.mod"), "module fetch\n\ngo 1.23\n")
  for (const module of [server, parser]) go(fetch, "mod", "download", module)
  const source = join(work, "source")
  rmSync(source, { recursive: true, force: true })
  cpSync(join(modules, server), source, { recursive: true })
  makeWritable(source)
  rmSync(join(source, "pkg/parser"), { recursive: true, force: true })
  cpSync(join(modules, parser), join(source, "pkg/parser"), { recursive: true })
  makeWritable(join(source, "pkg/parser"))
  // One package at a time, so that the machine stays usable.
  go(
    source,
    "build",
    "-p",
    "1",
    "-ldflags",
    "-checklinkname=0",
    "-o",
    join(work, "tidb-server"),
    "./cmd/tidb-server",
  )
  mkdirSync(place, { recursive: true })
  cpSync(join(work, "tidb-server"), `${result}.partial`)
  renameSync(`${result}.partial`, result)
  rmSync(work, { recursive: true, force: true })
}

/** The module cache is read-only. */
const makeWritable = (folder: string): void => {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makeWritable(path)
    else chmodSync(path, 0o644)
  }
}

if (existsSync(result)) process.stdout.write(`${result} is already there\n`)
else {
  build()
  process.stdout.write(`built ${result}\n`)
}
