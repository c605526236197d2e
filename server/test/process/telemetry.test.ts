// Traces and logs of the real service: against a real OpenTelemetry Collector, and against collectors that fail.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import { join } from "node:path"
import { eventually } from "../../testkit/eventually.ts"
import {
  attributesOf,
  describeCollector,
  OtelCollector,
  type TakenSpan,
} from "../../testkit/OtelCollector.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const callers = `00-${traceId}-00f067aa0ba902b7-01`
/** So long that only the end of the service exports. */
const never = "3600000"

/** A target that keeps the traces of requests, and answers the first ones with a failure. */
const targetFailing = (failures: number) => {
  const traces: Array<string | null> = []
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      traces.push(request.headers.get("traceparent"))
      return new Response("", { status: traces.length <= failures ? 500 : 200 })
    },
  })
  return { traces, url: server.url.href, [Symbol.asyncDispose]: () => server.stop(true) }
}

const create = (service: ServiceProcess, timerId: string, callbackUrl: string, headers = {}) =>
  service.fetch("/api/v1/timers/create", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({
      namespace: "shop",
      timerId,
      delay: "0s",
      callbackUrl,
      payload: "hidden payload",
      retryPolicy: { waits: ["100ms"] },
    }),
  })

describeCollector("a service with a collector", () => {
  let collector: OtelCollector
  beforeAll(async () => {
    collector = await OtelCollector.start()
  })
  afterAll(() => collector[Symbol.asyncDispose]())

  for (const [protocol, compression] of [
    ["http/json", "none"],
    ["http/protobuf", "gzip"],
  ] as const) {
    test(`exports the create, its attempts and their log lines when it stops, as ${protocol}`, async () => {
      using folder = new TemporaryFolder()
      await using target = targetFailing(1)
      const timerId = `${protocol} ä`
      await using service = await ServiceProcess.ready({
        folder: folder.path,
        settings: {
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
          OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
          OTEL_EXPORTER_OTLP_COMPRESSION: compression,
          OTEL_SERVICE_NAME: "timers",
          OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
          OTEL_BSP_SCHEDULE_DELAY: never,
          OTEL_BLRP_SCHEDULE_DELAY: never,
        },
      })
      const url = `${target.url}hook?token=hidden`
      expect((await create(service, timerId, url, { traceparent: callers })).status).toBe(200)
      await eventually("both attempts arrived", () => target.traces.length === 2 || undefined)
      expect(await service.terminate()).toBe(0)
      const isOurs = ({ attributes }: Pick<TakenSpan, "attributes">, name: string) =>
        attributesOf(attributes)[name] === timerId
      const spans = await eventually("the collector has all spans", () => {
        const found = collector.spans.filter((span) => isOurs(span, "punctual.timer.id"))
        return found.length === 3 ? found : undefined
      })
      const [created, failed, delivered] = spans
      expect(created).toMatchObject({
        traceId,
        parentSpanId: "00f067aa0ba902b7",
        name: "POST /api/v1/timers/create",
        kind: 2,
      })
      const link = { traceId, spanId: created?.spanId }
      expect(failed).toMatchObject({ traceId, parentSpanId: created?.spanId, kind: 3, links: [link] })
      expect(delivered).toMatchObject({ traceId, parentSpanId: created?.spanId, links: [link] })
      expect([failed?.status.code, delivered?.status.code]).toEqual([2, undefined])
      expect(spans.slice(1).map(({ attributes }) => attributesOf(attributes))).toMatchObject([
        { "punctual.attempt": 1, "punctual.outcome": "retry", "http.response.status_code": 500 },
        { "punctual.attempt": 2, "punctual.outcome": "delivered", "http.response.status_code": 200 },
      ])
      for (const { startTimeUnixNano, endTimeUnixNano } of spans) {
        expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano))
      }
      // Each request named the span of its attempt.
      expect(target.traces).toEqual([failed, delivered].map((span) => `00-${traceId}-${span?.spanId}-01`))
      const lines = await eventually("the collector has the log lines", () => {
        const found = collector.logs.filter((line) => isOurs(line, "timerId"))
        return found.length > 0 ? found : undefined
      })
      expect(lines).toMatchObject([
        {
          severityNumber: 9,
          body: { stringValue: "attempt failed, retry scheduled" },
          traceId,
          spanId: failed?.spanId,
        },
      ])
      expect(collector.resource).toMatchObject({
        "service.name": "timers",
        "deployment.environment.name": "test",
      })
      expect(collector.text).not.toContain("hidden")
    })
  }
})

describe("a collector that fails", () => {
  /** Takes connections and never answers. */
  class Hanging implements AsyncDisposable {
    readonly #sockets = new Set<Socket>()
    readonly #server: Server = createServer((socket) => {
      this.#sockets.add(socket)
      socket.on("error", () => undefined)
      socket.resume()
    })

    async listen(): Promise<string> {
      await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
      const address = this.#server.address()
      if (address === null || typeof address === "string") throw new Error("no port")
      return `http://127.0.0.1:${address.port}`
    }

    get connections(): number {
      return this.#sockets.size
    }

    async [Symbol.asyncDispose](): Promise<void> {
      for (const socket of this.#sockets) socket.destroy()
      await new Promise((resolve) => this.#server.close(resolve))
    }
  }

  test("by hanging delays no timer, costs only records, and does not keep the service from its end", async () => {
    using folder = new TemporaryFolder()
    await using target = targetFailing(0)
    await using hanging = new Hanging()
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      settings: {
        OTEL_EXPORTER_OTLP_ENDPOINT: await hanging.listen(),
        OTEL_EXPORTER_OTLP_TIMEOUT: "500",
        OTEL_BSP_SCHEDULE_DELAY: "1",
        OTEL_BSP_MAX_QUEUE_SIZE: "16",
      },
    })
    const timers = 100
    for (let at = 0; at < timers; at++) await create(service, `t${at}`, target.url)
    await eventually("all timers arrived", () => target.traces.length >= timers || undefined)
    // Each timer has two spans. At most one batch is in flight, and 16 spans wait.
    const full = 'timer_telemetry_dropped_total{signal="traces",reason="queueFull"}'
    await eventually("drops are counted", async () => (await service.metric(full)) > 0 || undefined)
    expect(await service.metric('timer_telemetry_exported_total{signal="traces"}')).toBe(0)
    expect(await service.metric('timer_deliveries_total{outcome="delivered"}')).toBeGreaterThan(0)
    await service.untilLogged("the collector does not take traces: no answer within 500 ms")
    expect(hanging.connections).toBeGreaterThan(0)
    expect(await service.terminate()).toBe(0)
    await service.untilLogged("could not be sent to the collector")
  })

  test("by being down is reported once, and timers fire", async () => {
    using folder = new TemporaryFolder()
    await using target = targetFailing(0)
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      // Nothing listens on this port: only root may.
      settings: {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:1/v1/traces",
        OTEL_BSP_SCHEDULE_DELAY: "1",
      },
    })
    for (const timerId of ["a", "b"]) {
      await create(service, timerId, target.url)
      await service.untilLogged("the collector does not take traces: ")
    }
    await eventually("both timers arrived", () => target.traces.length === 2 || undefined)
    expect(await service.terminate()).toBe(0)
    expect(service.logs.filter((line) => line.includes("does not take traces"))).toHaveLength(1)
  })
})

describe("settings of traces and logs", () => {
  test("headers from a file are sent, and shown nowhere", async () => {
    using folder = new TemporaryFolder()
    const file = join(folder.path, "headers")
    writeFileSync(file, "authorization=Bearer%20top-secret\n")
    const seen: Array<string | null> = []
    await using recorder = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        seen.push(request.headers.get("authorization"))
        return Response.json({})
      },
    })
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      settings: {
        OTEL_EXPORTER_OTLP_ENDPOINT: recorder.url.href,
        OTEL_EXPORTER_OTLP_HEADERS_FILE: file,
        OTEL_BLRP_SCHEDULE_DELAY: "1",
      },
    })
    await eventually("a request arrived", () => seen.length > 0 || undefined)
    expect(new Set(seen)).toEqual(new Set(["Bearer top-secret"]))
    const answer = await service.fetch("/api/v1/service/get", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"settings":true}',
    })
    const text = await answer.text()
    expect(text).toContain("OTEL_EXPORTER_OTLP_HEADERS")
    expect(await service.terminate()).toBe(0)
    for (const shown of [text, service.output, ...service.logs]) expect(shown).not.toContain("top-secret")
  })

  test("that are wrong or misspelt keep the service from starting, with one line for each", async () => {
    const run = (settings: Readonly<Record<string, string>>) =>
      ServiceProcess.command(["serve"], { TIMER_HTTP_PORT: "0", ...settings })
    const [grpc, misspelt] = await Promise.all([
      run({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4317", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }),
      run({ OTEL_EXPORTER_OTLP_ENDPONT: "http://127.0.0.1:4318" }),
    ])
    expect([grpc.code, misspelt.code]).toEqual([1, 1])
    expect(grpc.stderr).toBe(
      'punctual: OTEL_EXPORTER_OTLP_PROTOCOL must be http/json or http/protobuf (gRPC is not supported; collectors take OTLP over HTTP on port 4318); it is "grpc".\n',
    )
    expect(misspelt.stderr).toContain("did you mean OTEL_EXPORTER_OTLP_ENDPOINT?")
  })
})
