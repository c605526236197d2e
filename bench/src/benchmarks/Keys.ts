// What keys cost: CPU time of the service for a create over HTTP, with a key and without keys. Two services run beside each
// other and take turns, because a difference of a few percent disappears in the noise of separate runs.
import { randomUUID } from "node:crypto"
import { Punctual } from "@punctual/client"
import { admin } from "@punctual/client/admin"
import { atMost, type Benchmark, figure, percentile, type Row } from "../Benchmark.ts"
import { httpLoad } from "../HttpLoad.ts"
import { Service } from "../Service.ts"
import { farAhead } from "../work.ts"

const connections = 16
/** Fewer rounds than this would show only noise. */
const roundsMin = 15
const mostRatio = 1.05

interface Side {
  readonly name: string
  readonly service: Service
  readonly headers: string
  readonly microsPerCreate: Array<number>
}

export const Keys: Benchmark = {
  id: "Keys",
  title: "CPU time of the service for a create over HTTP, with a key and without keys, SQLite",
  uses: [],
  hasPeers: false,
  run: async ({ isQuick, rounds }, progress) => {
    const requests = isQuick ? 200 : 5_000
    await using open = await Service.start("sqlite", { TIMER_AUTH: "off" })
    await using closed = await Service.start("sqlite")
    const key = await appKeyOf(closed.url)
    const sides: ReadonlyArray<Side> = [
      { name: "without keys", service: open, headers: "", microsPerCreate: [] },
      {
        name: "with a key",
        service: closed,
        headers: `authorization: Bearer ${key}\r\n`,
        microsPerCreate: [],
      },
    ]
    for (const side of sides) await load(side, requests)
    const most = isQuick ? 1 : Math.max(rounds, roundsMin)
    for (let round = 1; round <= most; round++) {
      // The order changes, so that neither side always runs second.
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const before = await side.service.cpuMicros()
        await load(side, requests)
        side.microsPerCreate.push(((await side.service.cpuMicros()) - before) / requests)
      }
      progress(`round ${round} of ${most}`)
    }
    const [without, withKey] = sides.map(({ microsPerCreate }) => percentile(microsPerCreate, 0.5))
    return {
      rows: sides.map(rowOf),
      verdicts: [
        atMost("with a key, of without keys", (withKey ?? Number.NaN) / (without ?? 1), mostRatio, ""),
      ],
    }
  },
}

const rowOf = ({ name, microsPerCreate }: Side): Row => {
  const at = (fraction: number) => percentile(microsPerCreate, fraction).toFixed(1)
  return {
    name,
    values: `${at(0.5)} µs a create, ${at(0)} to ${at(1)} in the rounds`,
    figures: [figure("CPU time a create", "µs", microsPerCreate)],
  }
}

const appKeyOf = async (url: string): Promise<string> => {
  const keysWith = (key: string | null) => admin(new Punctual({ url, key })).keys
  const { apiKey } = await keysWith(null).create({ label: "bench", role: "admin" })
  const app = await keysWith(apiKey).create({ label: "bench", role: "app", namespaces: ["bench"] })
  return app.apiKey
}

const load = ({ service, headers }: Side, requests: number): Promise<number> =>
  httpLoad({
    url: `${service.url}/api/v1/timers/create`,
    connections,
    requests,
    headers,
    body: () =>
      `{"namespace":"bench","timerId":"${randomUUID()}","executeAt":"${new Date(farAhead()).toISOString()}","callbackUrl":"http://127.0.0.1:9/hook"}`,
    withinMs: 120_000,
  })
