// How a kind of message bus describes itself to the settings: its URLs, and how it opens. Its folder has one in adapter.ts,
// and buses/all.ts lists it. An adapter imports its implementation, in the package bus/, only when it is opened.
import type { Bus } from "@punctual/bus/Bus"
import type { RoutingTable } from "@punctual/bus/RoutingTable"
import type { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import type { Layer } from "effect"
import type { Adapter, AdapterFailure } from "./Adapter.ts"

export type BusLayer = Layer.Layer<Bus | UndeliverableMessages, AdapterFailure>

/** What the settings of the broker say beside its URL. */
export interface BusTerms {
  /** A PEM file of the authority that the broker's certificate is checked by; the system's own if absent. */
  readonly caFile?: string
  /** Of the stream, when the service creates it. */
  readonly replicas: number
  /** The operator states that the server syncs every write. */
  readonly isSynced: boolean
  /** The broker's name for what holds all messages. */
  readonly stream: string
  /** How every address begins. */
  readonly prefix: string
  /** Whether commands and events share an address, or each have their own. */
  readonly subjects: "shared" | "split"
}

/** What the composition root gives beside the settings. */
export interface BusOpening {
  readonly routing: RoutingTable
  /** The broker was away at the start, and cannot be used now that it is there: what is wrong and what to do. */
  readonly onRefused: (message: string) => void
}

export interface BusAdapter extends Adapter<BusChoice> {
  /** Other processes can listen. */
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
  open(terms: BusTerms, opening: BusOpening): BusLayer
}
