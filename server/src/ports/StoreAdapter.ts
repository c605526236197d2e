// How a store describes itself: its URLs, how it opens, and what commands can do on it without a service. The
// description is in adapter.ts of its folder, and stores/all.ts lists it. An adapter imports its implementation only
// when it is opened, so that a service on one store loads nothing of the others.
import type { Documents } from "@punctual/documents/Documents"
import type { Layer } from "effect"
import type { Ability, Adapter, AdapterFailure, Opened } from "./Adapter.ts"
import type { SealingKeyFile } from "./SealingKeyFile.ts"
import type { ShardLeases } from "./ShardLeases.ts"
import type { StoreCopies, StorePlace } from "./StoreCopy.ts"
import type { StoreExamination } from "./StoreReport.ts"
import type { StoreSchema } from "./StoreSchema.ts"
import type { TimerArchive } from "./TimerArchive.ts"
import type { TimerStore } from "./TimerStore.ts"

/** What every store provides. A store that nodes share should also provide `StoreClock`, to compare their clocks. */
export type StoreServices = TimerStore | ShardLeases | Documents

export type StoreLayer = Layer.Layer<StoreServices, AdapterFailure>

/** What a store may need to open. Each store uses what it needs. */
export interface StoreOpening {
  /** Fixed when the store is created. */
  readonly shards: number
  /**
   * The file stores/sqlite/worker.ts. The program's entry builds this URL, because elsewhere it breaks when compiled.
   */
  readonly workerUrl: URL
  /**
   * How long history is kept. A database that can expire rows by itself uses it. A command does not know it, and leaves
   * the removal of history to the service.
   */
  readonly historyRetentionMs?: number
  /** A command needs only a few connections. A service uses the store's default. */
  readonly connections?: "few"
  /** Called once when the store can no longer be trusted. The process should end. */
  readonly onFatal?: (message: string) => void
}

export interface StoreAdapter extends Adapter<StoreChoice> {
  /** Whether several nodes can use one store at the same time. */
  readonly isShared: boolean
  /** Absent if the common default and any number of shards suit the store. */
  readonly shards?: { readonly byDefault: number; readonly fewest: number }
}

type StoreAbility<A> = Ability<(opening: StoreOpening) => Opened<A>>

/** The store that a URL names. Nothing is touched before something is opened. */
export interface StoreChoice {
  readonly adapter: StoreAdapter
  /** The URL for messages, with absolute paths and without credentials. */
  readonly shown: string
  /** The location of its data, shown to people when the service has started. */
  readonly place: string
  /** Opens the store for a service. */
  open(opening: StoreOpening): StoreLayer
  /** Opens the store for a command that writes while no service runs: import, and the end of a restore. */
  readonly offline: Ability<(opening: StoreOpening) => StoreLayer>
  /** Reads everything that the store contains, for export. */
  readonly archive: StoreAbility<TimerArchive>
  /**
   * Opens only the documents, while services may run on the store. It fails if there is no store, and if its schema is
   * older than the program's.
   */
  readonly documents: StoreAbility<Documents["Service"]>
  readonly doctor: StoreAbility<StoreExamination>
  /** A copy of the whole store in a file. */
  readonly backup: StoreAbility<StoreCopies>
  readonly restore: Ability<StoreRestoring>
  readonly migrate: StoreAbility<StoreSchema>
  /** Where a service keeps the key that seals webhook secrets, if its settings name none. */
  readonly sealingKey: Ability<SealingKeyFile>
}

export interface StoreRestoring {
  place(opening: StoreOpening): Opened<StorePlace>
  /** The store in the file that the place has prepared. */
  prepared(file: string, opening: StoreOpening): StoreLayer
}
