// One attempt of a webhook, from the lookup of the name to the last byte of the answer. It needs no fiber: thousands of
// attempts may end in one second, and a fiber for each would cost as much as its request. Plain HTTP goes over our own
// client (http/src/client), and TLS over the client of the runtime.
import { nextUrgentTurn } from "@punctual/api/nextTurn"
import type { HttpUrl } from "@punctual/egress/HttpUrls"
import { type AnswerBody, isCompressed, isJsonSuccess, jsonTextOf, textOf } from "@punctual/egress/readAnswer"
import { type Destination, type Destinations, type EgressVerdict, routeOf } from "@punctual/egress/routeOf"
import type { AnswerHead } from "@punctual/http/client/AnswerHead"
import type { PlainConnection, PlainExchange, PlainFailure } from "@punctual/http/client/PlainConnection"
import type { PlainHttpClient } from "@punctual/http/client/PlainHttpClient"
import type { WebhookTarget } from "../../domain/Timer.ts"
import type { Attempted, Fire, OngoingAttempt } from "../../ports/Deliverer.ts"
import { fetchWebhook } from "./fetchWebhook.ts"
import { failureTextWithinMs, interpretAnswer, keptAnswerBytes, largeAnswerChars } from "./interpretAnswer.ts"
import { plainRequest } from "./plainRequest.ts"
import type { WebhookDelivery, WebhookSettings } from "./WebhookDeliverer.ts"
import { type WebhookRequest, webhookRequest } from "./WebhookRequest.ts"
import { egressRefused, networkFailure, timedOut, unconnectedCodes } from "./webhookFailures.ts"

export interface WebhookAttemptParts {
  readonly settings: WebhookSettings
  readonly client: PlainHttpClient
  readonly fire: Fire
  readonly target: WebhookTarget
  readonly url: HttpUrl
  readonly secrets: ReadonlyArray<Uint8Array>
  readonly onSent: (() => void) | undefined
}

export class WebhookAttempt implements OngoingAttempt, PlainExchange {
  // The exchange over plain HTTP. Every webhook is one, so it is not an object of its own.
  address = ""
  readonly port: number
  bytes: Uint8Array = nothing
  carrier: PlainConnection | undefined
  readonly #parts: WebhookAttemptParts
  readonly #timer: ReturnType<typeof setTimeout>
  #textTimer: ReturnType<typeof setTimeout> | undefined
  #others: Destinations["others"] = []
  #tried = 0
  #abort: AbortController | undefined
  /** The meaning of a failure status. It counts even if the rest of the answer does not arrive in time. */
  #failure: (() => Attempted) | undefined
  #delivery: WebhookDelivery | undefined
  #listener: ((delivery: WebhookDelivery) => void) | undefined
  #isOver = false

  constructor(parts: WebhookAttemptParts) {
    this.#parts = parts
    this.port = parts.url.port
    const { settings, fire, target, url } = parts
    // The timeout answers by itself and does not wait for the exchange, because not every step (such as a lookup) can
    // be aborted.
    this.#timer = setTimeout(() => {
      const delivery = this.#failure?.() ?? timedOut(url, target.timeoutMs)
      this.#stop()
      this.#end(delivery)
    }, target.timeoutMs)
    try {
      const routed = routeOf(url.url, settings.egress, settings.resolve, fire.namespace)
      if (routed instanceof Promise) {
        routed.then(
          (route) => this.#follow(route),
          (error: unknown) => this.#fail(error),
        )
      } else this.#follow(routed)
    } catch (error) {
      this.#fail(error)
    }
  }

  onEnd(listener: (delivery: WebhookDelivery) => void): void {
    if (this.#delivery === undefined) this.#listener = listener
    else listener(this.#delivery)
  }

  abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    clearTimeout(this.#textTimer)
    this.#stop()
  }

  #stop(): void {
    this.#parts.client.abandon(this)
    this.#abort?.abort()
  }

  #end(delivery: WebhookDelivery): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    if (this.#textTimer !== undefined) clearTimeout(this.#textTimer)
    this.#delivery = delivery
    this.#listener?.(delivery)
  }

  #fail(error: unknown): void {
    this.#end(networkFailure(this.#parts.url, error))
  }

  #follow(route: EgressVerdict): void {
    if (this.#isOver) return
    const { settings, fire, target, url, secrets, onSent } = this.#parts
    if (route.kind === "refused") {
      this.#end(egressRefused(url))
      return
    }
    const request = webhookRequest(fire, target, Date.now(), secrets)
    settings.observer?.sent(request)
    onSent?.()
    const isPlain = url.url.protocol === "http:" && settings.observer === undefined
    const bytes = isPlain ? plainRequest(request, target.method, url) : undefined
    if (bytes === undefined) this.#fetch(request, route.destinations)
    else {
      this.bytes = bytes
      this.#others = route.destinations.others
      this.#sendTo(route.destinations.first)
    }
  }

  #sendTo({ address }: Destination): void {
    this.address = address
    this.#parts.client.send(this)
  }

  onFailure(error: PlainFailure): void {
    const next = this.#others[this.#tried++]
    // Try the next address only if no request can have arrived at this one.
    if (next !== undefined && unconnectedCodes.has(error.code) && !this.#isOver) this.#sendTo(next())
    else this.#fail(error)
  }

  bytesWanted(head: AnswerHead): number {
    const { status, headers } = head
    if (isSuccess(status)) return isJsonSuccess({ ok: true, headers }) ? this.#parts.settings.answerBytes : 0
    this.#failure = () => this.#meaning(head, undefined)
    if (isCompressed(headers)) return 0
    this.#textTimer = setTimeout(() => this.#parts.client.cut(this), failureTextWithinMs)
    return keptAnswerBytes
  }

  onAnswer(head: AnswerHead, bytes: Uint8Array, isCut: boolean): void {
    if (bytes.length <= largeAnswerChars) this.#endWith(head, bytes, isCut)
    // Answers with large payloads may arrive together. One of them is read in each turn of the thread.
    else nextUrgentTurn().then(() => this.#endWith(head, bytes, isCut))
  }

  #endWith(head: AnswerHead, bytes: Uint8Array, isCut: boolean): void {
    if (this.#isOver) return
    const body = bytes.length === 0 ? undefined : bodyOf(head, bytes, isCut)
    this.#end(this.#meaning(head, body))
  }

  #meaning({ status, headers }: AnswerHead, body: AnswerBody | undefined): Attempted {
    return interpretAnswer({ status, headers, body }, Date.now(), this.#parts.settings.payloadBytes)
  }

  #fetch(request: WebhookRequest, destinations: Destinations): void {
    const { settings, target, url } = this.#parts
    const abort = new AbortController()
    this.#abort = abort
    const onFailureStatus = (meaning: () => Attempted): void => {
      this.#failure = meaning
    }
    fetchWebhook(
      settings,
      { request, method: target.method, destinations, signal: abort.signal },
      onFailureStatus,
    ).then(
      (delivery) => this.#end(delivery),
      (error: unknown) => this.#end(networkFailure(url, error)),
    )
  }
}

const nothing = new Uint8Array(0)

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const bodyOf = ({ status }: AnswerHead, bytes: Uint8Array, isCut: boolean): AnswerBody | undefined =>
  isSuccess(status) ? jsonTextOf(bytes, isCut) : textOf(bytes, isCut || bytes.length === keptAnswerBytes)
