import { describe, expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { ApiReader } from "../../src/console/ApiReader.ts"
import { Tally } from "../../src/Tally.ts"

const events = 'event: nodes\ndata: {"missing":[]}\n\nevent: created\nid: a.1\ndata: {}\n\n'

/** A service that records what it is asked for, and whose stream of events does not end. */
const serviceStub = () => {
  const asked: Array<{ readonly path: string; readonly body: unknown; readonly address: string }> = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: async (request) => {
      const path = new URL(request.url).pathname.replace("/api/v1/", "")
      const address = server.requestIP(request)?.address ?? ""
      const body = request.method === "GET" ? undefined : await request.json()
      asked.push({ path, body, address })
      return path === "events/stream"
        ? new Response(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from(events)) }))
        : Response.json({})
    },
  })
  return { asked, url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) }
}

describe("a client that reads like a page", () => {
  test("asks for all that an opened page asks for, and reads the stream", async () => {
    await using service = serviceStub()
    const tally = new Tally()
    using _reader = ApiReader.open({ url: service.url, from: "127.66.0.3", phase: 0.9, tally })
    await eventually("the stream and five answers", () =>
      tally.counts["events"] === 2 && tally.counts["200"] === 5 ? true : undefined,
    )
    expect(service.asked.map(({ path }) => path).sort()).toEqual([
      "events/stream",
      "keys/self",
      "service/get",
      "timers/count",
      "timers/histogram",
      "timers/list",
    ])
    expect(new Set(service.asked.map(({ address }) => address))).toEqual(new Set(["127.66.0.3"]))
    const bodyOf = (path: string) => service.asked.find((call) => call.path === path)?.body
    expect(bodyOf("timers/list")).toEqual({ namespaces: ["*"], states: ["pending"], limit: 100 })
    expect(bodyOf("timers/histogram")).toMatchObject({ buckets: 96, filter: { namespaces: ["*"] } })
  })
})
