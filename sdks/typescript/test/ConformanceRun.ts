// Runs the cases of sdks/conformance against this library: reads the files, gives the client a transport that follows a
// script, and calls operations by their ids.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { admin } from "../src/admin.ts"
import type { ClientClock, PayloadOptions, PunctualOptions, Transport } from "../src/core/options.ts"
import { Paged } from "../src/core/Paged.ts"
import { rawJson } from "../src/core/RawJson.ts"
import { PunctualError } from "../src/errors.ts"
import { Punctual } from "../src/Punctual.ts"

export interface ScriptedTry {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly failure?: "refused" | "lost" | "timeout"
}

export interface Sent {
  readonly path: string
  readonly text: string
  readonly headers: Headers
}

const folder = fileURLToPath(new URL("../../conformance/", import.meta.url))

export const fileOf = <Content>(name: string): Content => JSON.parse(readFileSync(`${folder}${name}`, "utf8"))

export const casesOf = <Case>(name: string): ReadonlyArray<Case> =>
  fileOf<{ cases: ReadonlyArray<Case> }>(`cases/${name}.json`).cases

/** The values that JSON cannot express: instants and raw JSON. */
export const nativeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(nativeOf)
  if (typeof value !== "object" || value === null) return value
  if ("$instant" in value) return new Date(String(value.$instant))
  if ("$raw" in value) return rawJson(String(value.$raw))
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, nativeOf(member)]))
}

/** A client whose tries follow a script. Time stands still, except for waits. */
export class ScriptedClient {
  readonly sent: Array<Sent> = []
  readonly waitsMs: Array<number> = []
  readonly punctual: Punctual
  readonly #tries: ReadonlyArray<ScriptedTry>
  #nowMs: number

  constructor(tries: ReadonlyArray<ScriptedTry>, now: string, options: PunctualOptions = {}) {
    this.#tries = tries
    this.#nowMs = Date.parse(now)
    const clock: ClientClock = {
      nowMs: () => this.#nowMs,
      random: () => 0,
      sleep: async (waitMs) => {
        this.waitsMs.push(waitMs)
        this.#nowMs += waitMs
      },
    }
    // A scripted time-out never answers, so any limit will do.
    const timeoutMs = tries.some(({ failure }) => failure === "timeout") ? 1 : 60_000
    const url = "http://service.test"
    this.punctual = new Punctual({
      url,
      namespace: "billing",
      timeoutMs,
      ...options,
      clock,
      transport: this.#send,
    })
  }

  readonly #send: Transport = async (url, init) => {
    const {
      failure,
      status = 200,
      headers,
      body = "{}",
    } = this.#tries[this.sent.length] ?? { failure: "refused" }
    this.sent.push({
      path: new URL(url).pathname,
      text: String(init.body),
      headers: new Headers(init.headers),
    })
    if (failure === "timeout") return await untilAborted(init.signal)
    if (failure !== undefined) {
      throw Object.assign(new Error(failure), { code: failure === "refused" ? "ECONNREFUSED" : "ECONNRESET" })
    }
    return new Response(body, { status, ...(headers === undefined ? {} : { headers }) })
  }
}

const untilAborted = (signal: AbortSignal | null | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))))

type Call = (request: never, options?: PayloadOptions) => unknown

/** Every operation of the OpenAPI document, as this library calls it. */
export const callsOf = (punctual: Punctual): Readonly<Record<string, Call>> => {
  const { timers } = punctual
  const { bulk, namespaces, service, breakers, keys, sessions, messages, audit, egress, clock, ...rest } =
    admin(punctual)
  return {
    "timers.create": (request, options) => timers.create(request, options),
    "timers.createMany": ({ timers: items }: { timers: [] }, options) => timers.createMany(items, options),
    "timers.get": (request, options) => timers.get(request, options),
    "timers.update": (request, options) => timers.update(request, options),
    "timers.delete": (request, options) => timers.cancel(request, options),
    "timers.deleteMany": (request, options) => timers.cancelMany(request, options),
    "timers.list": (request, options) => timers.list(request, options),
    "timers.count": (request, options) => timers.count(request, options),
    "timers.histogram": (request, options) => timers.histogram(request, options),
    "timers.lives": (request, options) => timers.lives(request, options),
    "timers.activity": (request, options) => timers.activity(request, options),
    "timers.replay": (request, options) => timers.replay(request, options),
    "timers.discard": (request, options) => timers.discard(request, options),
    "bulk.start": (request, options) => bulk.start(request, options),
    "bulk.get": (request, options) => bulk.get(request, options),
    "bulk.list": (request, options) => bulk.list(request, options),
    "bulk.abort": (request, options) => bulk.abort(request, options),
    "cluster.cluster": (_request, options) => rest.cluster(options),
    "clock.advance": (request, options) => clock.advance(request, options),
    "namespaces.put": (request, options) => namespaces.put(request, options),
    "namespaces.get": (request, options) => namespaces.get(request, options),
    "namespaces.list": (request, options) => namespaces.list(request, options),
    "service.get": (request, options) => service.get(request, options),
    "service.pause": (request, options) => service.pause(request, options),
    "service.resume": (request, options) => service.resume(request, options),
    "breakers.list": (_request, options) => breakers.list(options),
    "breakers.reset": (request, options) => breakers.reset(request, options),
    "egress.check": (request, options) => egress.check(request, options),
    "messages.list": (request, options) => messages.list(request, options),
    "messages.get": (request, options) => messages.get(request, options),
    "messages.replay": (request, options) => messages.replay(request, options),
    "messages.discard": (request, options) => messages.discard(request, options),
    "keys.create": (request, options) => keys.create(request, options),
    "keys.rotate": (request, options) => keys.rotate(request, options),
    "keys.revoke": (request, options) => keys.revoke(request, options),
    "keys.revokeLeaked": (request, options) => keys.revokeLeaked(request, options),
    "keys.confirm": (request, options) => keys.confirm(request, options),
    "keys.get": (request, options) => keys.get(request, options),
    "keys.list": (request, options) => keys.list(request, options),
    "keys.self": (_request, options) => keys.self(options),
    "sessions.create": (request, options) => sessions.create(request, options),
    "sessions.end": (_request, options) => sessions.end(options),
    "audit.list": (request, options) => audit.list(request, options),
    "events.stream": (request, options) => rest.events.stream(request, options),
  }
}

/** The answer of a call by its id; of a list, the first page. Errors are values, so that a case can compare them. */
export const outcomeOf = async (
  punctual: Punctual,
  operation: string,
  request: unknown,
  options: PayloadOptions = {},
): Promise<{ readonly value: unknown } | { readonly error: PunctualError }> => {
  const call = callsOf(punctual)[operation]
  if (call === undefined) throw new Error(`the library has no call for ${operation}`)
  try {
    // The cases are JSON, so their requests have no types.
    const answer = call(nativeOf(request) as never, options)
    return { value: answer instanceof Paged ? await answer.page() : await answer }
  } catch (error) {
    if (error instanceof PunctualError) return { error }
    throw error
  }
}
