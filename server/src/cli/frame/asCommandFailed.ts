// An adapter's error says where it happened and what to do, so the command shows its message unchanged.
import { Effect } from "effect"
import type { StoreError } from "../../ports/TimerStore.ts"
import { CommandFailed } from "./CommandRuntime.ts"

export const asCommandFailed = <A, R>(
  call: Effect.Effect<A, { readonly message: string }, R>,
): Effect.Effect<A, CommandFailed, R> =>
  Effect.mapError(call, ({ message }) => new CommandFailed({ message }))

/** Turns an error of the store into the failure of the command. */
export const told = <A>(call: Effect.Effect<A, StoreError>): Effect.Effect<A, CommandFailed> =>
  Effect.mapError(call, ({ message }) => new CommandFailed({ message: `the store failed: ${message}` }))
