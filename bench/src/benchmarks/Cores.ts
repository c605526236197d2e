// What several engines on one machine would gain. Two processes do the same work as one, half of it each, on files of their
// own. This is more than engines that share the shards of one store could reach.
import { type Benchmark, told } from "../Benchmark.ts"
import { compareRates, type Side } from "../compareRates.ts"
import { punctual } from "../PunctualWork.ts"
import { Receiver } from "../Receiver.ts"
import { Service } from "../Service.ts"
import { postCreates } from "./P2.ts"
import { fireAtOnce } from "./P6.ts"

const connections = 64
/** All processes have made their timers by then. */
const burstAfterMs = (timers: number): number => 5_000 + timers / 5
const kinds = ["P2, creates over HTTP", "P4, due at once", "P6, webhooks due at once"] as const
type Kind = (typeof kinds)[number]

export const Cores: Benchmark = {
  id: "Cores",
  title: "two processes instead of one, SQLite",
  uses: [],
  hasPeers: false,
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 1_000 : 100_000
    const measures: Readonly<Record<Kind, (processes: number) => Promise<number>>> = {
      "P2, creates over HTTP": (processes) => createOverHttp(timers, processes),
      "P4, due at once": (processes) => fireInProcess(timers, processes),
      "P6, webhooks due at once": (processes) => fireWebhooks(timers, processes),
    }
    const rates = await compareRates(
      kinds.flatMap((kind) =>
        [1, 2].map(
          (processes): Side => ({ name: sideOf(kind, processes), measure: () => measures[kind](processes) }),
        ),
      ),
      scale,
      progress,
    )
    return {
      rows: rates.rows,
      verdicts: kinds.map((kind) =>
        told(`${kind}: two processes, of one`, rates.of(sideOf(kind, 2)) / rates.of(sideOf(kind, 1))),
      ),
    }
  },
}

const sideOf = (kind: Kind, processes: number): string =>
  `${kind}: ${processes === 1 ? "one process" : `${processes} processes`}`

const createOverHttp = async (timers: number, processes: number): Promise<number> => {
  await using stack = new AsyncDisposableStack()
  const services = await startServices(stack, processes)
  const postAll = (requests: number) =>
    addUp(
      services.map(({ url }) =>
        postCreates(`${url}/api/v1/timers/create`, requests / processes, connections / processes),
      ),
    )
  await postAll(Math.min(5_000, timers / 2))
  return await postAll(timers)
}

const fireInProcess = async (timers: number, processes: number): Promise<number> => {
  const [system] = punctual
  if (system === undefined) throw new Error("Punctual on SQLite is not among the systems")
  // One instant for all, because bursts that follow each other would not share the cores.
  const dueAtMs = Date.now() + burstAfterMs(timers)
  const work = { work: "burst", timers: timers / processes, leadMs: 120_000, dueAtMs } as const
  return await addUp(
    Array.from({ length: processes }, async () => (await system.run(work)).perSecond ?? Number.NaN),
  )
}

const fireWebhooks = async (timers: number, processes: number): Promise<number> => {
  await using stack = new AsyncDisposableStack()
  const services = await startServices(stack, processes)
  const receivers = await Promise.all(services.map(() => Receiver.start()))
  for (const receiver of receivers) stack.use(receiver)
  const fireAll = (count: number) =>
    addUp(
      services.flatMap((service, index) => {
        const receiver = receivers[index]
        return receiver === undefined ? [] : [fireAtOnce(service, receiver, count / processes)]
      }),
    )
  await fireAll(Math.min(2_000, timers / 2))
  return await fireAll(timers)
}

const startServices = async (
  stack: AsyncDisposableStack,
  processes: number,
): Promise<ReadonlyArray<Service>> => {
  const services = await Promise.all(Array.from({ length: processes }, () => Service.start("sqlite")))
  for (const service of services) stack.use(service)
  return services
}

/** The rates of processes that work at the same time. */
const addUp = async (rates: ReadonlyArray<Promise<number>>): Promise<number> =>
  (await Promise.all(rates)).reduce((sum, rate) => sum + rate, 0)
