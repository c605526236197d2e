// Calls services with the runtime's `fetch`, to an address that the egress rules allow. Each call has a connection of its
// own: if `fetch` finds that a kept connection was closed, it sends the request again by itself, and then nobody knows
// whether the service got it once or twice.
import type { EgressRules } from "@punctual/egress/Egress"
import { literalAddress } from "@punctual/egress/earlyRefusal"
import { type EgressWords, makeEgressGate } from "@punctual/egress/makeEgressGate"
import { type Resolve, Resolver } from "@punctual/egress/Resolver"
import { type Destination, type Destinations, routeOf } from "@punctual/egress/routeOf"
import { Clock, Effect, Layer } from "effect"
import type { ErrorMeta, RequestSpec, ResponseMeta } from "../../domain/ServiceCall.ts"
import {
  type AskedOfService,
  type CalledAnswer,
  ServiceCaller,
  snippetBytesMax,
} from "../../ports/ServiceCaller.ts"

export interface FetchCallerOptions {
  readonly egress: EgressRules
  /** Looks names up. */
  readonly resolve?: Resolve
}

const words: EgressWords = {
  setting: "AGENT_EGRESS",
  whenUnresolved: "The call fails if that is so when it is due.",
}

export const FetchCaller = {
  layer: (options: FetchCallerOptions): Layer.Layer<ServiceCaller> =>
    Layer.sync(ServiceCaller, () => {
      const resolver = new Resolver()
      const resolve: Resolve = options.resolve ?? ((host, tenantId) => resolver.resolve(host, tenantId))
      const gate = makeEgressGate(options.egress, resolve, words)
      const { egress } = options
      return {
        whyRefused: (url) => {
          const refusal = gate.refusalOf(url)
          return refusal === undefined ? undefined : `The URL ${refusal}.`
        },
        call: Effect.fnUntraced(function* (asked) {
          const startedAt = yield* Clock.currentTimeMillis
          const answer = yield* Effect.tryPromise({
            try: (signal) => answerTo(asked, { egress, resolve, signal }),
            catch: (error) => error,
          }).pipe(
            Effect.timeoutOrElse({
              duration: asked.timeoutMs,
              orElse: () => Effect.fail(new CallTimedOut()),
            }),
            Effect.catch((error) => Effect.succeed(failureOf(error, asked))),
          )
          const latencyMs = (yield* Clock.currentTimeMillis) - startedAt
          return "status" in answer ? judged({ ...answer, latencyMs }) : failed({ ...answer, latencyMs })
        }),
      }
    }),
}

class CallTimedOut extends Error {}
class Refused extends Error {}

type Answered = Omit<ResponseMeta, "latencyMs">
type NotAnswered = Omit<ErrorMeta, "latencyMs">

interface CallTerms {
  readonly egress: EgressRules
  readonly resolve: Resolve
  readonly signal: AbortSignal
}

const answerTo = async (
  { request, attemptId, tenantId }: AskedOfService,
  { egress, resolve, signal }: CallTerms,
): Promise<Answered> => {
  const route = await routeOf(new URL(request.url), egress, resolve, tenantId)
  if (route.kind === "refused") throw new Refused()
  const answer = await send(request, attemptId, route.destinations, signal)
  const { snippet, isCut } = await beginningOf(answer)
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    bodySnippet: snippet,
    ...(isCut ? { isCut } : {}),
  }
}

const send = (
  { method, headers = {}, body }: RequestSpec,
  attemptId: string,
  { first, others }: Destinations,
  signal: AbortSignal,
): Promise<Response> => {
  const sendTo = async ({ href, host, serverName }: Destination, tried: number): Promise<Response> => {
    try {
      return await fetch(href, {
        method,
        headers: {
          ...(hasUserAgent(headers) ? {} : { "user-agent": "punctual-agent" }),
          ...headers,
          "accept-encoding": "identity",
          "idempotency-key": attemptId,
          ...(host === undefined ? {} : { host }),
        },
        redirect: "manual",
        // The limit applies to the bytes on the wire: a few hundred bytes may become hundreds of megabytes.
        decompress: false,
        keepalive: false,
        signal,
        ...(body === undefined ? {} : { body }),
        ...(serverName === undefined ? {} : { tls: { serverName } }),
      })
    } catch (error) {
      const next = others[tried]
      // The next address is tried only if no request can have arrived at this one.
      if (next === undefined || !unconnectedCodes.has(codeOf(error))) throw error
      return sendTo(next(), tried + 1)
    }
  }
  return sendTo(first, 0)
}

/** Otherwise the runtime would send its own name and version. */
const hasUserAgent = (headers: Readonly<Record<string, string>>): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === "user-agent")

/** The errors of a connection that was not made. A machine without IPv6 reports some of them for IPv6 addresses. */
const unconnectedCodes: ReadonlySet<string> = new Set([
  "ConnectionRefused",
  "ECONNREFUSED",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "EADDRNOTAVAIL",
  "EAFNOSUPPORT",
])

const beginningOf = async (
  answer: Response,
): Promise<{ readonly snippet: string; readonly isCut: boolean }> => {
  const parts: Array<Uint8Array> = []
  let bytes = 0
  const reader = answer.body?.getReader()
  while (reader !== undefined && bytes <= snippetBytesMax) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value)
    bytes += value.length
  }
  // The rest of a long answer is not read. A connection that breaks now does not matter.
  if (reader !== undefined) reader.cancel().catch(() => {})
  const isCut = bytes > snippetBytesMax
  const kept = Buffer.concat(parts).subarray(0, snippetBytesMax)
  // A cut may go through a character; a decoder that expects more leaves the broken end out.
  return { snippet: new TextDecoder().decode(kept, { stream: isCut }), isCut }
}

const judged = (response: ResponseMeta): CalledAnswer => {
  const { status, latencyMs } = response
  if (status >= 200 && status < 300) return { kind: "succeeded", response }
  const error: ErrorMeta = { kind: "status", message: `The service answered ${status}.`, latencyMs, response }
  return { kind: "failed", error }
}

const failed = (error: ErrorMeta): CalledAnswer => ({ kind: "failed", error })

/** The text has only host and code: messages of the runtime contain the URL, which may contain secrets. */
const failureOf = (error: unknown, { request, timeoutMs }: AskedOfService): NotAnswered => {
  const { host, hostname } = new URL(request.url)
  if (error instanceof CallTimedOut) {
    return { kind: "timeout", message: `There was no answer from ${host} within ${timeoutMs} ms.` }
  }
  if (error instanceof Refused) {
    const refused = literalAddress(hostname) ?? `the address of ${hostname}`
    return { kind: "egressRefused", message: `AGENT_EGRESS does not allow ${refused}.` }
  }
  return { kind: "network", message: `The call of ${host} failed: ${codeOf(error)}.` }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown error"
