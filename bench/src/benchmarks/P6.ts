// Many timers due in the same instant, to a webhook on loopback. They are compared with bare posts of the same bytes to
// the same receiver, as many at a time as Punctual has in flight to one host: once alone, and once while a thread empties
// the store's tables.
import { atLeast, type Benchmark, count, told } from "../Benchmark.ts"
import { EmptyingThread } from "../bare/EmptyingThread.ts"
import { postAll } from "../bare/postAll.ts"
import { compareRates } from "../compareRates.ts"
import { punctualTerms } from "../PunctualWork.ts"
import { Receiver } from "../Receiver.ts"
import { Service, type StoreKind } from "../Service.ts"
import { samplePayload } from "../samplePayload.ts"

const atOnce = 64
const posts = `bare posts, ${atOnce} at once`
const combined = `bare posts, ${atOnce} at once, beside bare select and delete`

export const P6: Benchmark = {
  id: "P6",
  title: "100,000 due at once to a webhook on loopback, until all are received",
  uses: ["postgres"],
  hasPeers: false,
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 500 : 100_000
    const warmUp = Math.min(2_000, timers / 2)
    await using receiver = await Receiver.start()
    const fire = (kind: StoreKind) => async () => {
      await using service = await Service.start(kind)
      await fireAtOnce(service, receiver, warmUp)
      progress(`Punctual on ${kind} is warm and now creates ${count(timers)} timers`)
      return await fireAtOnce(service, receiver, timers)
    }
    await postAll(receiver.plainUrl, warmUp, atOnce)
    const rates = await compareRates(
      [
        { name: "Punctual, SQLite", terms: punctualTerms.sqlite, measure: fire("sqlite") },
        {
          name: "Punctual, PostgreSQL",
          terms: punctualTerms.postgres,
          needs: ["postgres"],
          measure: fire("postgres"),
        },
        { name: posts, terms: "stores nothing", measure: () => postAll(receiver.plainUrl, timers, atOnce) },
        {
          name: combined,
          terms: "a thread selects and deletes as many rows in parallel, until both are done",
          measure: async () => {
            using thread = await EmptyingThread.filled(timers)
            const startedAt = performance.now()
            await Promise.all([postAll(receiver.plainUrl, timers, atOnce), thread.empty()])
            return (timers / (performance.now() - startedAt)) * 1_000
          },
        },
      ],
      scale,
      progress,
    )
    const ours = rates.of("Punctual, SQLite")
    return {
      rows: rates.rows,
      verdicts: [
        told("SQLite, of bare posts", ours / rates.of(posts)),
        atLeast("SQLite, of bare posts beside bare select and delete", ours / rates.of(combined), 0.75),
      ],
    }
  },
}

/** Returns timers per second, from the instant at which all are due. */
export const fireAtOnce = async (service: Service, receiver: Receiver, timers: number): Promise<number> => {
  await receiver.forget()
  const dueAt = Date.now() + 1_000 + timers / 4
  const timer = {
    namespace: "bench",
    executeAt: new Date(dueAt).toISOString(),
    callbackUrl: receiver.plainUrl,
    payload: samplePayload,
  }
  await service.createMany(timers, () => timer)
  if (Date.now() > dueAt) throw new Error("the timers could not be created before they were due")
  while (Date.now() < dueAt) await Bun.sleep(dueAt - Date.now())
  await receiver.delivered(timers, 120_000)
  return (timers / (Date.now() - dueAt)) * 1_000
}
