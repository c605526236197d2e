// What a browser and a caller get from the moment the port is open, while the store is not open yet.
import { describe, expect, test } from "bun:test"
import type { Listening } from "@punctual/http/listener/Listener"
import type { PagePack } from "@punctual/http/pages/PagePack"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { allBuses } from "../../src/buses/all.ts"
import { layerLogs } from "../../src/program/Logs.ts"
import { type ServiceLayer, serve } from "../../src/serve.ts"
import { readConfiguration } from "../../src/settings/Configuration.ts"
import { allStores } from "../../src/stores/all.ts"

const pageFile = (contentType: string, text: string) => ({
  contentType,
  isGzip: true,
  bytes: Bun.gzipSync(text),
})
const pages: PagePack = {
  pages: ["timers"],
  files: new Map([
    ["index.html", pageFile("text/html; charset=utf-8", "<title>the console</title>")],
    ["app-1.js", pageFile("text/javascript; charset=utf-8", "start()")],
  ]),
}

/** Never opens, like a store behind a long migration. */
const storeThatNeverOpens: ServiceLayer = Layer.unwrap(Effect.never)

/** Runs the service up to the point where it waits for its store. */
const whileStarting = (use: (url: string) => Promise<void>): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const read = readConfiguration(
        { TIMER_STORE_URL: "memory:", TIMER_HTTP_PORT: "0" },
        { stores: allStores, buses: allBuses },
      )
      if ("problems" in read) throw new Error(read.problems.join("\n"))
      const opened = yield* Deferred.make<Listening>()
      const running = yield* Effect.forkScoped(
        serve({
          configuration: read.configuration,
          layer: (listening) => {
            Deferred.doneUnsafe(opened, Effect.succeed(listening))
            return storeThatNeverOpens
          },
          pages,
          untilAsked: Effect.never,
          onListening: () => Effect.void,
        }),
      )
      const { url } = yield* Effect.raceFirst(
        Deferred.await(opened),
        Effect.andThen(Fiber.join(running), Effect.never),
      )
      yield* Effect.promise(() => use(url))
    }).pipe(Effect.scoped, Effect.provide(layerLogs("none", false))),
  )

describe("while the service starts", () => {
  test("the console and the reference are served", () =>
    whileStarting(async (url) => {
      const console = await fetch(`${url}/`)
      expect([console.status, new URL(console.url).pathname]).toEqual([200, "/console/"])
      expect(await console.text()).toContain("the console")
      for (const [path, text] of [
        ["/console/timers", "the console"],
        ["/console/app-1.js", "start()"],
        ["/docs/api", "<html"],
        ["/openapi.json", '"openapi"'],
      ] as const) {
        const answered = await fetch(`${url}${path}`)
        expect([path, answered.status]).toEqual([path, 200])
        expect(await answered.text()).toContain(text)
      }
    }))

  test("calls and health are answered 503, and nothing was written", () =>
    whileStarting(async (url) => {
      const called = await fetch(`${url}/api/v1/timers/create`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ namespace: "n", timerId: "t", delay: "1h", callbackUrl: "http://h/" }),
      })
      expect([called.status, called.headers.get("retry-after")]).toEqual([503, "1"])
      expect(await called.json()).toMatchObject({
        code: "ownerUnavailable",
        written: "no",
        detail: expect.stringContaining("The service is starting"),
      })
      for (const path of ["/health/ready", "/metrics", "/api/v1/events/stream", "/console/no-such-file"]) {
        const answered = await fetch(`${url}${path}`)
        await answered.body?.cancel()
        expect([path, answered.status]).toEqual([path, 503])
      }
    }))

  test("a name of another host gets no page, as later", () =>
    whileStarting(async (url) => {
      const answered = await fetch(`${url}/console/`, { headers: { host: "evil.example" } })
      expect([answered.status, await answered.json()]).toMatchObject([403, { code: "forbidden" }])
    }))
})
