// Commands that write to a store hold its leases. This file also has the messages for a store that is in use.
import { Effect, type Scope } from "effect"
import {
  type HeldStore,
  type HoldTarget,
  holdStore,
  StoreInUse,
  StoreTakenOver,
} from "../../maintenance/HeldStore.ts"
import { StoreError } from "../../ports/TimerStore.ts"
import { CommandFailed, type CommandFailure, Output, type OutputClosed } from "../frame/CommandRuntime.ts"

export type HoldFailure = StoreInUse | StoreTakenOver | StoreError

export const holdForCommand = (
  target: HoldTarget,
): Effect.Effect<HeldStore, HoldFailure | OutputClosed, Output | Scope.Scope> =>
  Effect.flatMap(Output, ({ remark }) =>
    holdStore(target, (nodes) =>
      remark(`Held by ${nodes.join(", ")}: checking whether it is still running …`),
    ),
  )

/** `what` names the thing that the operator must run again. */
export const tellHoldFailure = <A, R>(
  what: "import" | "command",
  run: Effect.Effect<A, CommandFailure | HoldFailure, R>,
): Effect.Effect<A, CommandFailure, R> =>
  Effect.mapError(run, (failure) => {
    if (failure instanceof StoreInUse) return commandFailed(inUse(failure.node))
    if (failure instanceof StoreTakenOver) {
      return commandFailed(
        `a service has taken over the store: stop every service on it, and run the ${what} again.`,
      )
    }
    return failure instanceof StoreError ? commandFailed(`the store failed: ${failure.message}`) : failure
  })

const inUse = (node: string): string =>
  `${node} runs on this store: stop every service on it first, and start the services again afterwards.`

const commandFailed = (message: string): CommandFailed => new CommandFailed({ message })
