// Punctual in this process as one of the compared systems. It offers the same calls as the adapters of the peers.
import { makeHandlerDeliverer } from "@punctual/server/deliverers/handler/HandlerDeliverer"
import { Deliverers } from "@punctual/server/ports/Deliverer"
import { Effect, Layer } from "effect"
import { type EngineKind, namespace, openEngine } from "./EngineOnDisk.ts"
import type { System } from "./peers/works.ts"
import { command } from "./work.ts"

export const openPunctual = async (kind: EngineKind, place: string): Promise<System> => {
  const deliverer = makeHandlerDeliverer()
  const toHandler = Layer.succeed(Deliverers, { byType: new Map([["handler" as const, deliverer]]) })
  const open = await openEngine(kind, place, toHandler)
  const { scheduler, store } = open.engine
  const tally = () => Effect.runPromise(store.tally)
  return {
    ready: async () => {},
    add: async (id, dueAtMs) => {
      const { result } = await Effect.runPromise(scheduler.create(command(dueAtMs, undefined, id)))
      if (result !== "created") throw new Error(`not created: ${result}`)
    },
    addMany: async (timers) => {
      const commands = timers.map(({ id, dueAtMs }) => command(dueAtMs, undefined, id))
      const answers = await Effect.runPromise(scheduler.createMany(commands))
      const refused = answers.find((answer) => !("result" in answer) || answer.result !== "created")
      if (refused !== undefined) throw new Error(`not created: ${JSON.stringify(refused)}`)
    },
    start: async (onFired) => deliverer.on(namespace, ({ timerId }) => onFired(timerId)),
    unsettled: async () => {
      const { created, delivered } = await tally()
      return created - delivered
    },
    close: () => Promise.resolve(open[Symbol.asyncDispose]()),
  }
}
