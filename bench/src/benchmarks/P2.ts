// Durable single creates over HTTP on 64 connections. They are compared with an echo server of the same runtime, with bare
// inserts, and with both together: an echo server that answers when the timer is inserted.
import { randomUUID } from "node:crypto"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { atLeast, type Benchmark, told } from "../Benchmark.ts"
import { insertAll } from "../bare/BareTables.ts"
import { ChildServer } from "../ChildServer.ts"
import { compareRates } from "../compareRates.ts"
import { httpLoad } from "../HttpLoad.ts"
import { punctualTerms } from "../PunctualWork.ts"
import { Service, type StoreKind } from "../Service.ts"
import { farAhead, payload } from "../work.ts"

const connections = 64
const echo = "bare echo server"
const insertingEcho = "bare echo that inserts, SQLite"

export const P2: Benchmark = {
  id: "P2",
  title: "durable single creates over HTTP, 64 connections",
  uses: ["postgres"],
  hasPeers: false,
  run: async (scale, progress) => {
    const requests = scale.isQuick ? 2_000 : 100_000
    const load = async (url: string) => {
      await post(url, Math.min(5_000, requests / 2))
      return await post(url, requests)
    }
    const creates = (kind: StoreKind) => async () => {
      await using service = await Service.start(kind)
      return await load(`${service.url}/api/v1/timers/create`)
    }
    const bareServer = (script: string) => async () => {
      using folder = new TemporaryFolder()
      await using server = await ChildServer.start(new URL(`../bare/${script}`, import.meta.url), folder.path)
      return await load(server.url)
    }
    const rates = await compareRates(
      [
        { name: "Punctual, SQLite", terms: punctualTerms.sqlite, measure: creates("sqlite") },
        {
          name: "Punctual, PostgreSQL",
          terms: punctualTerms.postgres,
          needs: ["postgres"],
          measure: creates("postgres"),
        },
        { name: echo, terms: "stores nothing", measure: bareServer("echo.ts") },
        // The limit of the disk: half of the connections' creates share a commit while the other half is answered.
        {
          name: "bare inserts, 32 a commit, SQLite",
          terms: "on disk: the tables of version 4, no server",
          measure: async () => insertAll(requests, connections / 2),
        },
        {
          name: insertingEcho,
          terms:
            "on disk: the tables of version 4, in a thread; all requests that arrive during a commit share the next one",
          measure: bareServer("insertingEcho.ts"),
        },
      ],
      scale,
      progress,
    )
    const ours = rates.of("Punctual, SQLite")
    return {
      rows: rates.rows,
      verdicts: [
        told("SQLite, of a bare echo server", ours / rates.of(echo)),
        atLeast("SQLite, of a bare echo that inserts", ours / rates.of(insertingEcho), 0.85),
      ],
    }
  },
}

const payloadText = payload.toString()

const body = () =>
  `{"namespace":"bench","timerId":"${randomUUID()}","executeAt":"${new Date(farAhead()).toISOString()}",` +
  `"callbackUrl":"http://127.0.0.1:9/hook","payload":${payloadText}}`

const post = (url: string, requests: number): Promise<number> => postCreates(url, requests, connections)

export const postCreates = (url: string, requests: number, connections: number): Promise<number> =>
  httpLoad({ url, connections, requests, body, withinMs: 120_000 })
