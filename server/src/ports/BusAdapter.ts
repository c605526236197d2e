// How a kind of message bus describes itself: its URLs, how it opens, and where its dead letters are. Its folder has one
// in adapter.ts, and buses/all.ts lists it. An adapter imports its implementation only when it is opened.
import type { Layer } from "effect"
import type { Ability, Adapter, AdapterFailure, Opened } from "./Adapter.ts"
import type { Bus, BusError, DeadLetters } from "./Bus.ts"
import type { WallClock } from "./WallClock.ts"

export type BusLayer = Layer.Layer<Bus, AdapterFailure, WallClock>

/** What the settings of the broker say beside its URL. */
export interface BusTerms {
  /** A PEM file of the authority that the broker's certificate is checked by; the system's own if absent. */
  readonly caFile?: string
  /** Of the stream, when the service creates it. */
  readonly replicas: number
  /** The operator states that the server syncs every write. */
  readonly isSynced: boolean
}

export interface BusAdapter extends Adapter<BusChoice> {
  /** Other processes can listen. Without that, a timer cannot have an event as its target: nobody would hear it. */
  readonly isShared: boolean
  /** How a URL looks that demands TLS. */
  readonly tlsForm?: string
}

/** The bus that a URL names. */
export interface BusChoice {
  readonly adapter: BusAdapter
  /** Its URL without credentials. */
  readonly shown: string
  /** Which of the terms have an effect. A setting without one is refused: whoever set it expects one. */
  readonly obeys: ReadonlySet<keyof BusTerms>
  open(terms: BusTerms): BusLayer
  /** For commands: on a connection of their own. */
  readonly deadLetters: Ability<(terms: BusTerms) => Opened<DeadLetters, BusError>>
}
