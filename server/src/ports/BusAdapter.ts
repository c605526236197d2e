// How a message bus describes itself to the settings: its URLs, and how it opens. The description is in adapter.ts of
// its folder, and buses/all.ts lists it. An adapter imports its implementation, in the package bus/, when it is opened.
import type { Bus } from "@punctual/bus/Bus"
import type { RoutingTable } from "@punctual/bus/RoutingTable"
import type { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import type { Layer } from "effect"
import type { Adapter, AdapterFailure } from "./Adapter.ts"

export type BusLayer = Layer.Layer<Bus | UndeliverableMessages, AdapterFailure>

/** The settings of the broker beside its URL. */
export interface BusTerms {
  /**
   * A PEM file with the authority that signed the broker's certificate. Without it, the system's authorities are used.
   */
  readonly caFile?: string
  /** PEM files with the certificate of this client and its private key, if the broker wants one. */
  readonly certFile?: string
  readonly keyFile?: string
  /** The replicas of the stream or of the topics, when the service creates it. */
  readonly replicas: number
  /** The operator states that the server syncs every write. */
  readonly isSynced: boolean
  /** The broker's name for the stream that holds all messages. */
  readonly stream: string
  /** The prefix of every address. */
  readonly prefix: string
  /** The broker's name for the topic that all messages share, and the beginning of its other topics' names. */
  readonly topic: string
  /** The partitions of the topic, when the service creates it. */
  readonly partitions: number
  /** Whether commands and events share an address or have separate ones. */
  readonly subjects: "shared" | "split"
  /** How many queues share the messages of a group, or that each tenant has a queue of its own. */
  readonly queues: number | "tenant"
}

/** What the composition root provides beside the settings. */
export interface BusOpening {
  readonly routing: RoutingTable
  /**
   * The broker was unreachable at the start. It answers now but cannot be used. The message says what is wrong and what
   * to do.
   */
  readonly onRefused: (message: string) => void
}

export interface BusAdapter extends Adapter<BusChoice> {
  /** Whether other processes can listen. */
  readonly isShared: boolean
  /** The form of a URL that requires TLS. */
  readonly tlsForm?: string
}

/** The bus that a URL names. */
export interface BusChoice {
  readonly adapter: BusAdapter
  /** Its URL without credentials. */
  readonly shown: string
  /** The terms that have an effect on this bus. Any other term is refused if it is set: the user expects an effect. */
  readonly obeys: ReadonlySet<keyof BusTerms>
  open(terms: BusTerms, opening: BusOpening): BusLayer
}
