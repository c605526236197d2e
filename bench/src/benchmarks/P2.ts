// Durable single creates over HTTP on 64 connections, against the same runtime's echo of a JSON post.
import { randomUUID } from "node:crypto"
import { atLeast, type Benchmark, compareRates, rateRow } from "../Benchmark.ts"
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
    const service = await Service.start()
    const echo = await ChildServer.start(new URL("../bare/echo.ts", import.meta.url))
    const load = (url: string) => httpLoad({ url, connections, requests, body, withinMs: 120_000 })
    try {
      await httpLoad({ url: echo.url, connections, requests: 5_000, body, withinMs: 60_000 })
      const sides = await compareRates(
        [
          { name: "Punctual", perSecond: () => load(`${service.url}/api/v1/timers/create`) },
          { name: "bare echo server", perSecond: () => load(echo.url) },
        ],
        scale,
        progress,
      )
      const [ours, bare] = sides
      return {
        rows: sides.map(rateRow),
        verdicts: [atLeast("of a bare echo server", (ours?.median ?? 0) / (bare?.median ?? 1), 0.35)],
      }
    } finally {
      await Promise.all([service.stop(), echo.stop()])
    }
  },
}
