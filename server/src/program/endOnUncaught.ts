// Ends the process after an error that no code caught. Such an error may have left any part of the service half done, for
// example a queue that nobody empties any more, and health checks do not see that. A restart is safe at any time.
import { Effect, type Scope } from "effect"

/** `end` writes the line and ends the process at once. */
export const endOnUncaught = (end: (message: string) => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.suspend(() => {
    const onError = (error: unknown) => end(uncaughtText("an error that no code caught", error))
    const onRejection = (reason: unknown) => end(uncaughtText("a failure that no code awaited", reason))
    return Effect.acquireRelease(
      Effect.sync(() => {
        process.on("uncaughtException", onError)
        process.on("unhandledRejection", onRejection)
      }),
      () =>
        Effect.sync(() => {
          process.off("uncaughtException", onError)
          process.off("unhandledRejection", onRejection)
        }),
    )
  })

const framesMost = 5
const charsMost = 2_000

/** One line, with the places in the code that lead to the cause. */
const uncaughtText = (what: string, error: unknown): string => {
  const { name, message, frames } = partsOf(error)
  const places = frames.length === 0 ? "" : ` (${frames.join(", ")})`
  const text = `${name}: ${message}${places}`.replace(/\s+/g, " ").slice(0, charsMost)
  return `The service ends after ${what}. No acknowledged timer is lost, and a restart goes on. ${text}`
}

const partsOf = (error: unknown) => {
  if (!(error instanceof Error)) return { name: "not an error", message: typeof error, frames: [] }
  const { name, message, stack = "" } = error
  const frames = stack.split("\n").flatMap((line) => /^\s*(at .+)$/.exec(line)?.[1] ?? [])
  return { name, message, frames: frames.slice(0, framesMost) }
}
