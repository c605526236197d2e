// Another product in the process of the service, such as the Service Agent. It shares the bus, the keys and the clock of
// the service. The service knows nothing else about it: the program's entry (package app) brings them together.
//
// Laws:
//  - The companion subscribes to its messages while its layer is built. That is before the engine starts, so that no
//    due timer finds nobody who listens.
//  - It opens its own door (`open`) after the service has started, and closes it (`drain`) before the service stops.
import type { Bus } from "@punctual/bus/Bus"
import type { RoutedGroup } from "@punctual/bus/RoutingTable"
import type { KeyDirectory } from "@punctual/door/KeyDirectory"
import { Context, type Effect, type Layer, type Scope } from "effect"
import type { WallClock } from "./WallClock.ts"

export class RunningCompanion extends Context.Service<
  RunningCompanion,
  {
    /** Lets callers in. Returns lines for the text of the start. Its error says why the companion cannot start. */
    readonly open: Effect.Effect<string, { readonly message: string }, Scope.Scope>
    /** Lets nobody in any more, and finishes what is under way within the time. */
    drain(withinMs: number): Effect.Effect<void>
  }
>()("punctual/RunningCompanion") {}

export interface Companion {
  /** The topics of its messages, by type. */
  readonly routes: (subjects: "shared" | "split") => Readonly<Record<string, string>>
  /** The groups as which it subscribes. */
  readonly groups: (subjects: "shared" | "split") => ReadonlyArray<RoutedGroup>
  /** The types that need no subscriber. */
  readonly unheardTypes: ReadonlyArray<string>
  readonly layer: (
    subjects: "shared" | "split",
  ) => Layer.Layer<RunningCompanion, { readonly message: string }, Bus | KeyDirectory | WallClock>
}
