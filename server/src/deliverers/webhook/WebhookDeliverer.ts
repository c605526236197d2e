// Delivers a timer as an HTTP request. One timeout limits the whole exchange, from the lookup of the name to the last
// byte of the answer. So a receiver that is slow, hangs or never ends affects only its own attempt. Redirects are never
// followed, because they would bypass the egress rules.
import { formatDuration } from "@punctual/api/DurationMs"
import { defaultLimits } from "@punctual/api/Limits"
import type { EgressRules } from "@punctual/egress/Egress"
import { literalAddress } from "@punctual/egress/earlyRefusal"
import { type HttpUrl, HttpUrls } from "@punctual/egress/HttpUrls"
import { makeEgressGate } from "@punctual/egress/makeEgressGate"
import { LookupTimeout, type Resolve, Resolver } from "@punctual/egress/Resolver"
import { type AnswerBody, discard, isJsonSuccess, readJson, readText } from "@punctual/egress/readAnswer"
import { type Destination, type Destinations, routeOf } from "@punctual/egress/routeOf"
import { Effect } from "effect"
import type { EgressRefusal } from "../../domain/Delivery.ts"
import { networkTexts, timeoutTexts } from "../../domain/errorClassOf.ts"
import type { WebhookTarget } from "../../domain/Timer.ts"
import type { Attempted, Deliverer, Fire } from "../../ports/Deliverer.ts"
import { egressWords } from "./egressWords.ts"
import { interpretAnswer, keptAnswerBytes } from "./interpretAnswer.ts"
import { webhookRequest } from "./WebhookRequest.ts"

export interface WebhookOptions {
  readonly egress: EgressRules
  readonly resolve?: Resolve
  /**
   * The secrets for signing webhooks of a namespace; empty if they are not signed. `sealed`: the namespace has secrets,
   * but they cannot be opened.
   */
  readonly secretsOf?: (namespace: string) => ReadonlyArray<Uint8Array> | "sealed"
  /** Calls the listener when secrets may have changed. */
  readonly onSecretsChange?: (listener: () => void) => void
  /** The largest payload in an answer. */
  readonly payloadBytes?: number
  /** At most this much of an answer is read. */
  readonly answerBytes?: number
  /** Sees the requests and answers. Only test deliveries have one. */
  readonly observer?: ExchangeObserver
}

export interface ExchangeObserver {
  /** The request, before it is sent. */
  sent(request: ReturnType<typeof webhookRequest>): void
  /** The part of the body that was read. */
  read(body: AnswerBody | undefined): void
  /** An answer whose body does not matter. The observer must read or discard the body. */
  unread(response: Response): void
}

export interface WebhookDeliverer extends Deliverer {
  deliver(fire: Fire, onSent?: () => void): Effect.Effect<WebhookDelivery>
}

/** What a webhook comes to: an attempt, or a refusal by the egress rules before anything is sent. */
export type WebhookDelivery = Attempted | EgressRefusal

export const makeWebhookDeliverer = (options: WebhookOptions): WebhookDeliverer => {
  // The runtime's fetch uses HTTP_PROXY and similar variables. A proxy would connect in our place, to an address of its
  // own choice, and the egress rules would judge nothing.
  process.env["NO_PROXY"] = "*"
  const urls = new HttpUrls()
  const resolve = options.resolve ?? new Resolver().resolve
  const settings: Settings = {
    urls,
    egress: options.egress,
    resolve,
    secretsOf: options.secretsOf ?? (() => []),
    onSecretsChange: options.onSecretsChange ?? (() => {}),
    payloadBytes: options.payloadBytes ?? defaultLimits.payloadBytes,
    answerBytes: options.answerBytes ?? 64 * 1024,
    observer: options.observer,
  }
  return {
    deliver: (fire, onSent) => deliver(settings, fire, onSent),
    silentAfterMs,
    hostOf: (target) => (target.type === "webhook" ? urls.of(target.url)?.host : undefined) ?? "",
    // Webhooks that cannot be signed wait: a key that is missing after a start must use up no attempts.
    presence: {
      isThere: (namespace) => settings.secretsOf(namespace) !== "sealed",
      absence: {
        reason: "sealed",
        detail:
          "The webhook secrets of the namespace cannot be opened: TIMER_SECRET_KEY is missing or is not the key that sealed them. The service sends no unsigned webhooks.",
      },
      onArrival: settings.onSecretsChange,
    },
    gate: makeEgressGate(options.egress, resolve, egressWords),
  }
}

interface Settings extends Required<Omit<WebhookOptions, "observer">> {
  readonly urls: HttpUrls
  readonly observer: ExchangeObserver | undefined
}

const deliver = (settings: Settings, fire: Fire, onSent?: () => void): Effect.Effect<WebhookDelivery> =>
  Effect.callback<WebhookDelivery>((resume) => {
    const { target } = fire
    const url = target.type === "webhook" ? settings.urls.of(target.url) : undefined
    if (target.type !== "webhook" || url === undefined) {
      resume(Effect.succeed(invalidTarget))
      return undefined
    }
    const secrets = settings.secretsOf(fire.namespace)
    // Never send unsigned: a receiver that checks signatures would refuse the webhook, and others must not get used to
    // it.
    if (secrets === "sealed") {
      resume(Effect.succeed(notSigned))
      return undefined
    }
    const abort = new AbortController()
    const progress: Progress = { failure: undefined, onSent }
    // The timeout answers by itself and does not wait for the exchange, because not every step (such as a lookup) can
    // be aborted.
    const timer = setTimeout(() => {
      resume(Effect.succeed(progress.failure?.() ?? timedOut(url, target.timeoutMs)))
      abort.abort()
    }, target.timeoutMs)
    exchange(settings, fire, target, url, secrets, abort.signal, progress).then((delivery) => {
      clearTimeout(timer)
      resume(Effect.succeed(delivery))
    })
    return Effect.sync(() => {
      clearTimeout(timer)
      abort.abort()
    })
  })

/** The progress of an exchange. */
interface Progress {
  readonly onSent: (() => void) | undefined
  /** The meaning of a failure status. It counts even if the rest of the answer does not arrive in time. */
  failure: (() => Attempted) | undefined
}

/** An attempt without an answer for this long moves to a slow slot. */
const silentAfterMs = 5_000

/** How long the text of a failure may take after its status. The text is only for people. */
const failureTextWithinMs = 1_000

/**
 * Never rejects: every failure is a delivery too. In the common case (no lookup, no JSON in the answer) it awaits only
 * once, because each further await costs more than building the request.
 */
const exchange = async (
  settings: Settings,
  fire: Fire,
  target: WebhookTarget,
  url: HttpUrl,
  secrets: ReadonlyArray<Uint8Array>,
  signal: AbortSignal,
  progress: Progress,
): Promise<WebhookDelivery> => {
  try {
    const routed = routeOf(url.url, settings.egress, settings.resolve, fire.namespace)
    const route = routed instanceof Promise ? await routed : routed
    if (route.kind === "refused") return egressRefused(url)
    const request = webhookRequest(fire, target, Date.now(), secrets)
    settings.observer?.sent(request)
    progress.onSent?.()
    const response = await send(request, target.method, route.destinations, signal)
    const { status, headers, ok } = response
    const meaning = (body: AnswerBody | undefined): Attempted =>
      interpretAnswer({ status, headers, body }, Date.now(), settings.payloadBytes)
    if (!ok) progress.failure = () => meaning(undefined)
    else if (!isJsonSuccess(response)) {
      if (settings.observer === undefined) discard(response)
      else settings.observer.unread(response)
      return meaning(undefined)
    }
    const body = ok
      ? await readJson(response, settings.answerBytes)
      : await readText(response, keptAnswerBytes, failureTextWithinMs)
    settings.observer?.read(body)
    return meaning(body)
  } catch (error) {
    return networkFailure(url, error)
  }
}

const send = (
  { headers, body }: ReturnType<typeof webhookRequest>,
  method: WebhookTarget["method"],
  { first, others }: Destinations,
  signal: AbortSignal,
): Promise<Response> => {
  const request = ({ host, serverName }: Destination): BunFetchRequestInit => ({
    method,
    headers: host === undefined ? headers : { ...headers, host },
    redirect: "manual",
    signal,
    // The limit applies to the bytes on the wire, so a compressed answer is not decompressed.
    decompress: false,
    ...(body === undefined ? undefined : { body }),
    ...(serverName === undefined ? undefined : { tls: { serverName } }),
  })
  const sendTo = (destination: Destination, tried: number): Promise<Response> => {
    const sent = fetch(destination.href, request(destination))
    const next = others[tried]
    if (next === undefined) return sent
    // Try the next address only if no request can have arrived at this one.
    return sent.catch((error: unknown) => {
      if (!unconnectedCodes.has(codeOf(error))) throw error
      return sendTo(next(), tried + 1)
    })
  }
  return sendTo(first, 0)
}

/** The errors of a connection that was not made. A machine without IPv6 reports some of them for IPv6 addresses. */
const unconnectedCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "EADDRNOTAVAIL",
  "EAFNOSUPPORT",
  "EINVAL",
])

const invalidTarget: Attempted = {
  kind: "dead",
  reason: "invalidTarget",
  error: "the target is not an http or https URL",
}

const notSigned: Attempted = {
  kind: "retry",
  error:
    "not sent: the webhook secrets of the namespace cannot be opened, because the key that sealed them is missing: set TIMER_SECRET_KEY, or restore the key file beside the store",
  isHostFailure: true,
}

/** Callers see this text, so it does not show an address that a lookup found. */
const egressRefused = ({ url }: HttpUrl): EgressRefusal => {
  const literal = literalAddress(url.hostname)
  const refused = literal ?? `the address of ${url.hostname}`
  return { kind: "egressRefused", detail: short(`TIMER_EGRESS does not allow ${refused}`) }
}

const timedOut = ({ host }: HttpUrl, timeoutMs: number): Attempted => ({
  kind: "retry",
  error: short(`${timeoutTexts.webhook} ${host} within ${formatDuration(timeoutMs)}`),
  isHostFailure: true,
})

/** The error has only host and code: messages of the runtime contain the URL, which may contain secrets. */
const networkFailure = ({ host, url }: HttpUrl, error: unknown): Attempted => {
  if (error instanceof LookupTimeout) {
    const text = short(`${timeoutTexts.lookup} ${url.hostname}: ${error.message}`)
    return { kind: "retry", error: text, isHostFailure: error.hasStarted }
  }
  const code = codeOf(error)
  const text = nameServerTimeouts.includes(code)
    ? `${timeoutTexts.lookup} ${url.hostname}: the name servers did not answer`
    : `${meaningOf(code)}: ${host}`
  return { kind: "retry", error: short(text), isHostFailure: true }
}

const nameServerTimeouts = ["DNS_ETIMEOUT", "ETIMEOUT"]

const meaningOf = (code: string): string => {
  switch (code) {
    case "ECONNREFUSED":
      return networkTexts.refused
    case "ECONNRESET":
      return networkTexts.closed
    case "ENOTFOUND":
    case "DNS_ENOTFOUND":
    case "DNS_ENODATA":
      return networkTexts.notFound
    default:
      return `${networkTexts.other} ${code}`
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown"

const maxErrorChars = 200

const short = (text: string): string =>
  text.length <= maxErrorChars ? text : `${text.slice(0, maxErrorChars - 1)}…`
