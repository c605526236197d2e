// The whole service below app/src/main.ts for one test: a real listener on a free port, a real engine, a memory store,
// and a deliverer that does what the test says. Everything ends with the test.
import { defaultLimits, type Limits } from "@punctual/api/Limits"
import type { Documents } from "@punctual/documents/Documents"
import { FailedTries } from "@punctual/door/FailedTries"
import { type AuthMode, Gate } from "@punctual/door/Gate"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { parseEgress } from "@punctual/egress/Egress"
import { makeEgressGate } from "@punctual/egress/makeEgressGate"
import type { Resolve } from "@punctual/egress/Resolver"
import { listen } from "@punctual/http/listener/Listener"
import type { PagePack } from "@punctual/http/pages/PagePack"
import { Tracing } from "@punctual/telemetry/Tracing"
import { Context, Effect, Layer, Result } from "effect"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { startersWithKeys } from "../../src/bulk/Starters.ts"
import { auditLayer } from "../../src/calls/auditLayer.ts"
import { egressWords } from "../../src/deliverers/webhook/egressWords.ts"
import { ActivityLog } from "../../src/engine/activity/ActivityLog.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { Scheduler } from "../../src/engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../../src/engine/namespaces/NamespaceDirectory.ts"
import { type HttpService, type HttpServiceOptions, makeHttpService } from "../../src/http/HttpService.ts"
import { namePrefix } from "../../src/http/namePrefix.ts"
import { makePageRoutes } from "../../src/http/PageRoutes.ts"
import { Deliverers, type Delivery, type Fire } from "../../src/ports/Deliverer.ts"
import { Ids } from "../../src/ports/Ids.ts"
import { WallClock } from "../../src/ports/WallClock.ts"
import { layerLogs } from "../../src/program/Logs.ts"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
  readonly json: any
}

export interface RunningService {
  readonly url: string
  readonly port: number
  readonly service: HttpService
  /** Calls the API. A body that is not text is sent as JSON. */
  call(name: string, body: unknown, headers?: Record<string, string>): Promise<Answered>
  /** The same for calls outside the timers group, by group and name. */
  post(path: `${string}/${string}`, body: unknown): Promise<Answered>
  fetch(path: string, init?: RequestInit): Promise<Answered>
  /** How many timers are pending in a namespace, according to the engine itself. */
  pendingIn(namespace: string): Promise<number>
}

export interface ServiceOptions {
  readonly limits?: Partial<Limits>
  readonly bodyTimeoutMs?: number
  readonly callsMax?: number
  readonly answerTimeoutMs?: number
  readonly deliver?: (fire: Fire) => Effect.Effect<Delivery>
  /** The egress rules, as in TIMER_EGRESS. If absent, every address is allowed. */
  readonly egress?: string
  /** Resolves the hosts of checks. If absent, no host can be resolved. */
  readonly resolve?: Resolve
  /** Runs before the first request. */
  readonly before?: Effect.Effect<unknown, never, NamespaceDirectory | KeyDirectory | Documents>
  /** Whether calls need a key; by default as soon as there is one. */
  readonly auth?: AuthMode
  readonly metricsAreOpen?: boolean
  /** The keys that seal webhook secrets. */
  readonly secretKeys?: ReadonlyArray<Uint8Array>
  /** Where a manual clock begins. If absent, the service uses the system's clock. */
  readonly clockStartMs?: number
  /** Makes the service one of several nodes. */
  readonly cluster?: HttpServiceOptions["cluster"]
  readonly messages?: HttpServiceOptions["messages"]
  readonly pages?: PagePack
  /** The documentation. */
  readonly docs?: PagePack
  readonly about?: HttpServiceOptions["about"]
  /** Which requests may come in. If absent, requests may name any host. */
  readonly guard?: Partial<HttpServiceOptions["guard"]>
  /** Replaces parts of the engine's scheduler, for example to refuse writes. */
  readonly scheduler?: Partial<Scheduler["Service"]>
  /** Replaces parts of the engine, for example its status. */
  readonly engine?: Partial<Engine["Service"]>
  /** Gets the spans of calls and attempts. */
  readonly tracing?: Tracing["Service"]
}

export const withService = (
  options: ServiceOptions,
  use: (running: RunningService) => Promise<void>,
): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const scheduler = yield* Scheduler
      const keys = yield* KeyDirectory
      const { now: nowMs } = yield* WallClock
      // Tests make many wrong guesses, and their answers need not wait.
      const gate = new Gate({
        keys,
        mode: options.auth ?? "auto",
        nowMs,
        tries: new FailedTries(0),
      })
      const limits = { ...defaultLimits, ...options.limits }
      const service = yield* makeHttpService({
        limits,
        bodyTimeoutMs: options.bodyTimeoutMs ?? 10_000,
        callsMax: options.callsMax ?? 4_096,
        guard: { isOnLoopback: false, hosts: [], corsOrigins: [], ...options.guard },
        ...(options.answerTimeoutMs === undefined ? {} : { answerTimeoutMs: options.answerTimeoutMs }),
        ...(options.cluster === undefined ? {} : { cluster: options.cluster }),
        ...(options.messages === undefined ? {} : { messages: options.messages }),
        pageRoutes: yield* makePageRoutes({
          limits,
          ...(options.pages === undefined ? {} : { pages: options.pages }),
          ...(options.docs === undefined ? {} : { docs: options.docs }),
        }),
        ...(options.about === undefined ? {} : { about: options.about }),
        keys: { keys, gate },
        ...(options.metricsAreOpen === undefined ? {} : { metricsAreOpen: options.metricsAreOpen }),
      })
      const listening = yield* listen({
        namePrefix,
        host: "127.0.0.1",
        port: 0,
        handle: service.handle,
        onDefect: () => undefined,
      })
      // A status that a test gives may say for good that the engine waits.
      if (options.engine?.status === undefined) yield* ownsEverything
      yield* options.before ?? Effect.void
      const context = yield* Effect.context<never>()
      const fetched = async (path: string, init?: RequestInit): Promise<Answered> =>
        answeredOf(await fetch(`${listening.url}${path}`, { redirect: "manual", ...init }))
      yield* Effect.promise(() =>
        use({
          url: listening.url,
          port: listening.port,
          service,
          fetch: fetched,
          call: (name, body, headers) =>
            fetched(`/api/v1/timers/${name}`, {
              method: "POST",
              headers: { "content-type": "application/json", ...headers },
              body: typeof body === "string" ? body : JSON.stringify(body),
            }),
          post: (path, body) =>
            fetched(`/api/v1/${path}`, {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify(body),
            }),
          pendingIn: (namespace) =>
            Effect.runPromiseWith(context)(
              Effect.map(scheduler.count({ namespace, state: "pending" }), ({ count }) => count),
            ),
        }),
      )
    }).pipe(Effect.scoped, Effect.provide(layerOf(options)), Effect.provide(layerLogs("none", false))),
  )

/** Everything that calls need: a real engine on a memory store, and a deliverer that does what the test says. */
export const layerOf = (options: ServiceOptions) => {
  const logs = Layer.merge(ActivityLog.layer({ retentionMs: 7 * 86_400_000 }), auditLayer(90 * 86_400_000))
  const engine = logs.pipe(
    Layer.provideMerge(Engine.layer()),
    Layer.provideMerge(Layer.mergeAll(deliverers(options), clockOf(options))),
    Layer.provideMerge(NamespaceDirectory.layer({ secretKeys: options.secretKeys ?? [] })),
    Layer.provideMerge(KeyDirectory.layer()),
    Layer.provideMerge(MemoryStore.layer({ shards: 4 })),
  )
  const replaced = Layer.effectContext(
    Effect.gen(function* () {
      const real = { engine: yield* Engine, scheduler: yield* Scheduler }
      return Context.make(Engine, { ...real.engine, ...options.engine }).pipe(
        Context.add(Scheduler, {
          ...real.scheduler,
          // A test that replaces creates replaces all of them.
          ...(options.scheduler?.create === undefined ? {} : { createNow: () => false }),
          ...options.scheduler,
        }),
      )
    }),
  )
  const starters = Effect.map(KeyDirectory, (keys) => startersWithKeys(keys, options.auth ?? "auto"))
  return BulkJobs.layer(starters).pipe(
    Layer.provideMerge(replaced),
    Layer.provideMerge(engine),
    Layer.provideMerge(Ids.system),
    Layer.provideMerge(options.tracing === undefined ? Layer.empty : Layer.succeed(Tracing, options.tracing)),
  )
}

const clockOf = ({ clockStartMs }: ServiceOptions): Layer.Layer<WallClock> =>
  clockStartMs === undefined ? WallClock.system : WallClock.manual(clockStartMs)

const deliverers = (options: ServiceOptions) =>
  Layer.succeed(Deliverers, {
    byType: new Map([
      [
        "webhook" as const,
        {
          deliver: options.deliver ?? (() => Effect.succeed<Delivery>({ kind: "delivered", status: 200 })),
          hostOf: () => "host",
          gate: makeEgressGate(
            Result.getOrThrow(parseEgress(options.egress ?? "open")),
            options.resolve ?? (() => Promise.reject(new Error("no such host"))),
            egressWords,
          ),
        },
      ],
    ]),
  })

export const ownsEverything = Effect.gen(function* () {
  const engine = yield* Engine
  yield* Effect.sleep(1).pipe(
    Effect.repeat({ while: () => engine.status().isWaiting }),
    Effect.timeoutOption(30_000),
  )
})

const answeredOf = async (response: Response): Promise<Answered> => {
  const text = await response.text()
  const isJson = /json/.test(response.headers.get("content-type") ?? "")
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined,
  }
}
