// Delivers a timer as an HTTP request. One timeout limits the whole exchange, from the lookup of the name to the last
// byte of the answer. So a receiver that is slow, hangs or never ends affects only its own attempt. Redirects are never
// followed, because they would bypass the egress rules.
import { defaultLimits } from "@punctual/api/Limits"
import type { EgressRules } from "@punctual/egress/Egress"
import { HttpUrls } from "@punctual/egress/HttpUrls"
import { makeEgressGate } from "@punctual/egress/makeEgressGate"
import { type Resolve, Resolver } from "@punctual/egress/Resolver"
import type { AnswerBody } from "@punctual/egress/readAnswer"
import { PlainHttpClient } from "@punctual/http/client/PlainHttpClient"
import { Effect, Exit } from "effect"
import type { EgressRefusal } from "../../domain/Delivery.ts"
import type { Attempted, Deliverer, Fire } from "../../ports/Deliverer.ts"
import { egressWords } from "./egressWords.ts"
import { WebhookAttempt } from "./WebhookAttempt.ts"
import type { WebhookRequest } from "./WebhookRequest.ts"
import { invalidTarget, notSigned } from "./webhookFailures.ts"

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
  sent(request: WebhookRequest): void
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
  const settings: WebhookSettings = {
    urls,
    egress: options.egress,
    resolve,
    secretsOf: options.secretsOf ?? (() => []),
    onSecretsChange: options.onSecretsChange ?? (() => {}),
    payloadBytes: options.payloadBytes ?? defaultLimits.payloadBytes,
    answerBytes: options.answerBytes ?? 64 * 1024,
    observer: options.observer,
  }
  const client = new PlainHttpClient()
  return {
    deliver: (fire, onSent) =>
      Effect.callback((resume) => {
        const attempt = begin(settings, client, fire, onSent)
        if (!(attempt instanceof WebhookAttempt)) {
          resume(attempt)
          return undefined
        }
        attempt.onEnd((delivery) => resume(Effect.succeed(delivery)))
        return Effect.sync(() => attempt.abandon())
      }),
    begin: (fire, onSent) => begin(settings, client, fire, onSent),
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

/** The options with their defaults. */
export interface WebhookSettings extends Required<Omit<WebhookOptions, "observer">> {
  readonly urls: HttpUrls
  readonly observer: ExchangeObserver | undefined
}

/** The attempt begins at once. It is an exit if nothing can be sent. */
const begin = (
  settings: WebhookSettings,
  client: PlainHttpClient,
  fire: Fire,
  onSent?: () => void,
): WebhookAttempt | Exit.Exit<WebhookDelivery> => {
  const { target } = fire
  const url = target.type === "webhook" ? settings.urls.of(target.url) : undefined
  if (target.type !== "webhook" || url === undefined) return Exit.succeed(invalidTarget)
  const secrets = settings.secretsOf(fire.namespace)
  // Never send unsigned: a receiver that checks signatures would refuse the webhook, and others must not get used to it.
  if (secrets === "sealed") return Exit.succeed(notSigned)
  return new WebhookAttempt({ settings, client, fire, target, url, secrets, onSent })
}

/** An attempt without an answer for this long moves to a slow slot. */
const silentAfterMs = 5_000
