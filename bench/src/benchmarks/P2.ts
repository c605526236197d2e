// Durable single creates over HTTP on 64 connections, against the same runtime's echo of a JSON post.
import { randomUUID } from "node:crypto"
import { atLeast, type Benchmark, compareRates, ratioOf } from "../Benchmark.ts"
import { insertAll } from "../bare/BareTables.ts"
import { ChildServer } from "../ChildServer.ts"
import { httpLoad } from "../HttpLoad.ts"
import { Service } from "../Service.ts"
import { farAhead, payload } from "../work.ts"

const connections = 64

export const P2: Benchmark = {
  id: "P2",
  title: "durable single creates over HTTP, 64 connections",
  run: async (scale, progress) => {
    const requests = scale.isQuick ? 20_000 : 100_000
    const payloadText = payload.toString()
    const body = () =>
      `{"namespace":"bench","timerId":"${randomUUID()}","executeAt":"${new Date(farAhead()).toISOString()}",` +
      `"callbackUrl":"http://127.0.0.1:9/hook","payload":${payloadText}}`
    await using service = await Service.start()
    await using echo = await ChildServer.start(new URL("../bare/echo.ts", import.meta.url))
    const createUrl = `${service.url}/api/v1/timers/create`
    const load = (url: string, count: number) =>
      httpLoad({ url, connections, requests: count, body, withinMs: 120_000 })
    // Both sides warm.
    await load(echo.url, 5_000)
    await load(createUrl, 5_000)
    const rates = await compareRates(
      [
        { name: "Punctual", perSecond: () => load(createUrl, requests) },
        { name: "bare echo server", perSecond: () => load(echo.url, requests) },
        // What the disk allows: half of the connections' creates share a commit while the other half is answered.
        {
          name: "bare inserts, 32 a commit, same tables",
          perSecond: async () => insertAll(requests, connections / 2),
        },
      ],
      scale,
      progress,
    )
    return { rows: rates.rows, verdicts: [atLeast("of a bare echo server", ratioOf(rates), 0.35)] }
  },
}
