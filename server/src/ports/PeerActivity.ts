// What other nodes have counted and not stored yet. It is for people who look at the last minutes. The port is separate
// from Peers, because no timer depends on it.
import { Context, type Effect } from "effect"
import type { ActivityRecord } from "../domain/ActivityRecord.ts"
import type { PeerError, PeerNode } from "./Peers.ts"

export interface UnstoredActivity {
  /** Names the process that counted. */
  readonly process: string
  readonly records: ReadonlyArray<ActivityRecord>
}

export class PeerActivity extends Context.Service<
  PeerActivity,
  {
    /** Bounded in time. */
    of(to: PeerNode): Effect.Effect<UnstoredActivity, PeerError>
  }
>()("punctual/ports/PeerActivity") {}
