// The work that peers are given, done by Punctual in this process: to a handler that notes the time.
import { makeHandlerDeliverer } from "@punctual/server/deliverers/handler/HandlerDeliverer"
import { Deliverers } from "@punctual/server/ports/Deliverer"
import { Effect, Layer } from "effect"
import { type EngineOnDisk, namespace, withEngine, withEngineOnPostgres } from "./EngineOnDisk.ts"
import type { Peer, Result, Work } from "./peers/Peer.ts"
import { command, farAhead } from "./work.ts"

const batch = 1_000

/** Punctual as one of those that are compared. */
export const punctual: ReadonlyArray<Peer> = [
  { name: "Punctual, SQLite", terms: "on the disk", run: (work) => run(withEngine, work) },
  { name: "Punctual, PostgreSQL", terms: "on the disk", run: (work) => run(withEngineOnPostgres, work) },
]

const run = async (open: typeof withEngine, work: Work): Promise<Result> => {
  const latenessMs: Array<number> = []
  const noting = Layer.sync(Deliverers, () => {
    const deliverer = makeHandlerDeliverer()
    deliverer.on(namespace, ({ executeAt }) => {
      latenessMs.push(Date.now() - executeAt)
    })
    return { byType: new Map([["handler" as const, deliverer]]) }
  })
  return await open(async (engine) => {
    switch (work.work) {
      case "creates":
        return { perSecond: await createEach(engine, work) }
      case "burst":
        return { perSecond: await burst(engine, work, latenessMs), latenessMs }
      case "paced":
        await pace(engine, work, latenessMs)
        return { latenessMs }
    }
  }, noting)
}

const createEach = async (
  { scheduler }: EngineOnDisk,
  { timers, callers }: Extract<Work, { work: "creates" }>,
): Promise<number> => {
  let left = timers
  const startedAt = performance.now()
  const caller = async () => {
    while (left-- > 0) {
      const { result } = await Effect.runPromise(scheduler.create(command(farAhead())))
      if (result !== "created") throw new Error(`not created: ${result}`)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (timers / (performance.now() - startedAt)) * 1_000
}

/** From the instant at which all are due until the last was handled, as it is measured of the peers. */
const burst = async (
  { scheduler }: EngineOnDisk,
  { timers, leadMs }: Extract<Work, { work: "burst" }>,
  latenessMs: ReadonlyArray<number>,
): Promise<number> => {
  const dueAtMs = Date.now() + leadMs
  await createAll(
    scheduler,
    Array.from({ length: timers }, () => dueAtMs),
  )
  if (Date.now() > dueAtMs) throw new Error("not all could be created before they were due")
  await Bun.sleep(Math.max(0, dueAtMs - Date.now()))
  await until(() => latenessMs.length >= timers, 300_000)
  return (timers / (Date.now() - dueAtMs)) * 1_000
}

const pace = async (
  { scheduler }: EngineOnDisk,
  { perSecond, seconds, pending, leadMs }: Extract<Work, { work: "paced" }>,
  latenessMs: ReadonlyArray<number>,
): Promise<void> => {
  for (let filled = 0; filled < pending; filled += 100_000) {
    await createAll(scheduler, Array.from({ length: Math.min(100_000, pending - filled) }, farAhead))
  }
  const timers = perSecond * seconds
  const firstMs = Date.now() + leadMs
  await createAll(
    scheduler,
    Array.from({ length: timers }, (_, index) => firstMs + Math.floor((index / perSecond) * 1_000)),
  )
  if (Date.now() > firstMs) throw new Error("not all could be created before the first was due")
  await until(() => latenessMs.length >= timers, leadMs + seconds * 1_000 + 120_000)
}

const createAll = async (scheduler: EngineOnDisk["scheduler"], dueAtMs: ReadonlyArray<number>) => {
  for (let at = 0; at < dueAtMs.length; at += batch) {
    const commands = dueAtMs.slice(at, at + batch).map((executeAt) => command(executeAt))
    const answers = await Effect.runPromise(scheduler.createMany(commands))
    if (answers.some((answer) => !("result" in answer) || answer.result !== "created"))
      throw new Error("not all were created")
  }
}

const until = async (isDone: () => boolean, withinMs: number) => {
  const deadline = Date.now() + withinMs
  while (!isDone()) {
    if (Date.now() > deadline) throw new Error(`it took longer than ${withinMs / 1_000} s`)
    await Bun.sleep(2)
  }
}
