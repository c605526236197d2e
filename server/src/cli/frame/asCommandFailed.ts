// What an adapter says when it cannot be opened, or cannot do what a command asks of the store itself: a sentence that
// names the place and what to do, and needs nothing added.
import { Effect } from "effect"
import type { StoreError } from "../../ports/TimerStore.ts"
import { CommandFailed } from "./CommandRuntime.ts"

export const asCommandFailed = <A, R>(
  call: Effect.Effect<A, { readonly message: string }, R>,
): Effect.Effect<A, CommandFailed, R> =>
  Effect.mapError(call, ({ message }) => new CommandFailed({ message }))

/** What the store said, as why the command failed. */
export const told = <A>(call: Effect.Effect<A, StoreError>): Effect.Effect<A, CommandFailed> =>
  Effect.mapError(call, ({ message }) => new CommandFailed({ message: `the store failed: ${message}` }))
