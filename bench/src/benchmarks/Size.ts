// How much disk and memory a million timers need: pending ones with short and long payloads, with and without tags, and
// finished ones in the history. Sizes do not depend on the speed of the machine. A tenth of a million is measured, and
// the table shows ten times as much. It always runs one round.
import { randomUUID } from "node:crypto"
import { type Benchmark, count, figure, type Row } from "../Benchmark.ts"
import { Receiver } from "../Receiver.ts"
import { whyLeftOut } from "../Servers.ts"
import { Service, type StoreKind, storeName } from "../Service.ts"
import { samplePayload } from "../samplePayload.ts"
import { farAhead } from "../work.ts"

const million = 1_000_000
/** Finished timers leave room that the next ones use, as in a service that runs for long. */
const portion = 20_000
const deliveredWithinMs = 300_000

interface Kind {
  readonly name: string
  readonly isFinished?: true
  readonly more: (index: number) => object
}

const kinds: ReadonlyArray<Kind> = [
  { name: "pending, payload of 100 bytes", more: () => ({}) },
  {
    name: "pending, with a correlation id and 3 tags",
    more: (index) => ({
      correlationId: `order-${index}`,
      tags: ["trial", `customer-${index % 10_000}`, `region-${index % 20}`],
    }),
  },
  { name: "pending, payload of 4 KiB", more: () => ({ payload: { text: "x".repeat(4_080) } }) },
  { name: "finished, in the history", isFinished: true, more: () => ({}) },
]

export const Size: Benchmark = {
  id: "Size",
  title: "disk and memory for a million timers (service over HTTP, random ids)",
  note: "Each kind has a new store. The disk is what the timers added, with indexes. Finished timers were delivered by a webhook, in portions of 20,000.",
  hasPeers: false,
  run: async ({ isQuick }, progress) => {
    const timers = isQuick ? 2_000 : million / 10
    const why = whyLeftOut(["postgres"])
    const stores: ReadonlyArray<StoreKind> = why === undefined ? ["sqlite", "postgres"] : ["sqlite"]
    await using receiver = await Receiver.start()
    const rows: Array<Row> = []
    for (const store of stores) {
      for (const kind of kinds) {
        progress(`${storeName[store]}: ${kind.name}`)
        rows.push(await measured(store, kind, timers, receiver))
      }
    }
    return { rows, verdicts: [] }
  },
}

const measured = async (store: StoreKind, kind: Kind, timers: number, receiver: Receiver): Promise<Row> => {
  await using service = await Service.start(store)
  await receiver.forget()
  const before = await service.diskBytes()
  const callbackUrl = receiver.plainUrl
  for (let made = 0; made < timers; made += portion) {
    const executeAt = kind.isFinished === true ? new Date().toISOString() : new Date(farAhead()).toISOString()
    await service.createMany(Math.min(portion, timers - made), (index) => ({
      namespace: "bench",
      timerId: randomUUID(),
      executeAt,
      callbackUrl,
      payload: samplePayload,
      ...kind.more(made + index),
    }))
    if (kind.isFinished === true)
      await receiver.delivered(Math.min(made + portion, timers), deliveredWithinMs)
  }
  const diskBytes = (((await service.diskBytes()) - before) / timers) * million
  const residentMiB = await service.residentMiB()
  return {
    name: `${storeName[store]}: ${kind.name}`,
    values: `${count(diskBytes / 1e6)} MB of disk for a million; ${count(residentMiB)} MiB resident with ${count(timers)}`,
    figures: [
      figure("disk for a million", "MB", [diskBytes / 1e6]),
      figure("resident memory", "MiB", [residentMiB]),
    ],
  }
}
