// The work of the store's thread for commands on the file itself. Each call opens what it needs, because most of them
// must not create, migrate or lock anything. It runs in a thread of its own, so that a command can report progress and
// be stopped while the database library works for minutes.
import type { DocumentRow } from "@punctual/documents/DocumentRow"
import type { CopyFacts, CopyOptions } from "../../ports/StoreCopy.ts"
import type { ExamineOptions } from "../../ports/StoreReport.ts"
import type { DocumentsAfter } from "./calls.ts"
import type { OnProgress } from "./openDatabase.ts"
import { copyStore, inspectFile } from "./SqliteBackup.ts"
import { documentsInFile, examineFile, type FileReport } from "./SqliteDoctor.ts"
import { migrateFile, readVersions, type SchemaVersions } from "./SqliteMigration.ts"
import { RestorePlace } from "./SqliteRestore.ts"

export interface KeeperCalls {
  examine(options: ExamineOptions): FileReport
  documentsAfter(asked: DocumentsAfter): ReadonlyArray<DocumentRow>
  copy(options: CopyOptions): CopyFacts
  /** Takes the store's lock until the thread ends. Returns whether there is a store. */
  takePlace(nothing: null): boolean
  inspect(file: string): CopyFacts
  prepare(asked: { readonly file: string; readonly prepared: string }): void
  put(asked: { readonly prepared: string; readonly keepAs: string | undefined }): void
  versions(nothing: null): SchemaVersions
  migrate(shards: number): void
}

export class Keeper implements KeeperCalls {
  readonly #path: string
  readonly #onProgress: OnProgress
  #place: RestorePlace | undefined

  constructor(path: string, onProgress: OnProgress = () => {}) {
    this.#path = path
    this.#onProgress = onProgress
  }

  examine(options: ExamineOptions): FileReport {
    return examineFile(this.#path, options)
  }

  documentsAfter(asked: DocumentsAfter): ReadonlyArray<DocumentRow> {
    return documentsInFile(this.#path, asked)
  }

  copy(options: CopyOptions): CopyFacts {
    return copyStore(this.#path, options)
  }

  takePlace(): boolean {
    return this.#locked.isTaken
  }

  inspect(file: string): CopyFacts {
    return inspectFile(file)
  }

  prepare({ file, prepared }: { readonly file: string; readonly prepared: string }): void {
    this.#locked.prepare(file, prepared)
  }

  put({ prepared, keepAs }: { readonly prepared: string; readonly keepAs: string | undefined }): void {
    this.#locked.put(prepared, keepAs)
  }

  versions(): SchemaVersions {
    return readVersions(this.#path)
  }

  migrate(shards: number): void {
    migrateFile(this.#path, shards, this.#onProgress)
  }

  close(): void {
    this.#place?.close()
  }

  get #locked(): RestorePlace {
    this.#place ??= new RestorePlace(this.#path)
    return this.#place
  }
}
