// The events of other nodes, which only the owner of a timer knows. They are for readers of the event stream. The port is
// separate from Peers, because no timer depends on it.
import { Context, type Effect } from "effect"
import type { TimerEvent } from "../domain/TimerEvent.ts"
import type { PeerError, PeerNode } from "./Peers.ts"

export interface PeerEventsPage {
  /** Names the process that numbers the events. */
  readonly feed: string
  /** The number of the event before the first one. It is higher than asked if the node no longer has the others. */
  readonly exclusiveAfter: number
  readonly events: ReadonlyArray<TimerEvent>
}

export class PeerEvents extends Context.Service<
  PeerEvents,
  {
    /**
     * The next events of the node after the given numbers, by feed. If there are none yet, the node waits a short time
     * for one. Bounded in time and in number. Asking makes the node keep its events for a minute.
     */
    after(to: PeerNode, position: ReadonlyMap<string, number>): Effect.Effect<PeerEventsPage, PeerError>
  }
>()("punctual/ports/PeerEvents") {}
