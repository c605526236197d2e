// The time of a service, for commands that send instants.
import { ServiceAnswer } from "@punctual/api/Service"
import { Clock, Effect } from "effect"
import { CommandFailed, Output, type OutputClosed } from "../frame/CommandRuntime.ts"
import type { ServiceAddress } from "./ServiceAddress.ts"
import { tryService } from "./ServiceClient.ts"

/**
 * The clock of the service, which may be a manual clock. Only keys for the whole service may read it. The keys of one
 * namespace get the clock of this machine instead, and a remark, so that they can work with their timers.
 */
export const serviceNow = (
  service: ServiceAddress,
): Effect.Effect<number, CommandFailed | OutputClosed, Output> =>
  Effect.gen(function* () {
    const read = yield* Effect.result(
      tryService(service, { path: "/service/get", fields: {}, answer: ServiceAnswer }),
    )
    if (read._tag === "Success") return read.success.value.now
    const { message, problem } = read.failure
    if (problem?.code !== "forbidden") return yield* new CommandFailed({ message })
    yield* (yield* Output).remark(ownClock)
    return yield* Clock.currentTimeMillis
  })

const ownClock =
  "The key may not read the clock of the service (service.read), so the command uses the clock of this machine."
