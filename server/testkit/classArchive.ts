// A Java server spends half of its start on loading classes. The runtime can keep loaded classes in an archive and map it
// into memory at the next start. The archive is next to the jars of the server, in the cache folder of the user. Whoever
// starts the server first makes it. Without an archive, a server only starts more slowly.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ServerProcess, type ServerProcessOptions } from "./ServerProcess.ts"

export interface ArchivedServer {
  /** The folder with the jars. */
  readonly folder: string
  /** The same as at every later start, with other arguments for the runtime. */
  server(runtimeArgs: ReadonlyArray<string>): ServerProcessOptions
}

const made = new Map<string, Promise<ReadonlyArray<string>>>()

/** The arguments for the runtime that use the archive. The first call starts the server once, and stops it. */
export const classArchiveArgs = (archived: ArchivedServer): Promise<ReadonlyArray<string>> => {
  const known = made.get(archived.folder) ?? argsOf(archived)
  made.set(archived.folder, known)
  return known
}

const argsOf = async ({ folder, server }: ArchivedServer): Promise<ReadonlyArray<string>> => {
  const archive = join(folder, `classes-${runtimeName()}.jsa`)
  const failed = `${archive}.failed`
  if (!existsSync(archive) && !existsSync(failed)) {
    // Other processes may do the same. The last one wins.
    const partial = `${archive}.${process.pid}`
    try {
      await using running = await ServerProcess.start(server([`-XX:ArchiveClassesAtExit=${partial}`]))
      await running.stop()
      renameSync(partial, archive)
    } catch (error) {
      // Nobody tries again, because every start would take twice as long.
      writeFileSync(failed, String(error))
      rmSync(partial, { force: true })
    }
  }
  return existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`, "-Xshare:auto"] : ["-Xshare:auto"]
}

/** An archive is only for the runtime that made it. */
const runtimeName = (): string =>
  createHash("sha256")
    .update(execFileSync("java", ["--version"], { encoding: "utf8" }))
    .digest("hex")
    .slice(0, 12)
