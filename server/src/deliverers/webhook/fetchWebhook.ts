// Sends a webhook over the client of the runtime: for TLS, and for test deliveries that look at everything.
import { nextUrgentTurn } from "@punctual/api/nextTurn"
import { type AnswerBody, discard, isJsonSuccess, readJson, readText } from "@punctual/egress/readAnswer"
import type { Destination, Destinations } from "@punctual/egress/routeOf"
import type { WebhookTarget } from "../../domain/Timer.ts"
import type { Attempted } from "../../ports/Deliverer.ts"
import { failureTextWithinMs, interpretAnswer, keptAnswerBytes, largeAnswerChars } from "./interpretAnswer.ts"
import type { WebhookSettings } from "./WebhookDeliverer.ts"
import type { WebhookRequest } from "./WebhookRequest.ts"
import { networkCodeOf, unconnectedCodes } from "./webhookFailures.ts"

export interface FetchedWebhook {
  readonly request: WebhookRequest
  readonly method: WebhookTarget["method"]
  readonly destinations: Destinations
  readonly signal: AbortSignal
}

/** Rejects with the error of the network. `onFailureStatus` gets the meaning of a failure before its text is read. */
export const fetchWebhook = async (
  settings: WebhookSettings,
  webhook: FetchedWebhook,
  onFailureStatus: (meaning: () => Attempted) => void,
): Promise<Attempted> => {
  const response = await send(webhook)
  const { status, headers, ok } = response
  const meaning = (body: AnswerBody | undefined): Attempted =>
    interpretAnswer({ status, headers, body }, Date.now(), settings.payloadBytes)
  if (!ok) onFailureStatus(() => meaning(undefined))
  else if (!isJsonSuccess(response)) {
    if (settings.observer === undefined) discard(response)
    else settings.observer.unread(response)
    return meaning(undefined)
  }
  const body = ok
    ? await readJson(response, settings.answerBytes)
    : await readText(response, keptAnswerBytes, failureTextWithinMs)
  settings.observer?.read(body)
  // Answers with large payloads may arrive together. One of them is read in each turn of the thread.
  if (body !== undefined && body.text.length > largeAnswerChars) await nextUrgentTurn()
  return meaning(body)
}

const send = ({
  request: { headers, body },
  method,
  destinations: { first, others },
  signal,
}: FetchedWebhook): Promise<Response> => {
  const terms = ({ host, serverName }: Destination): BunFetchRequestInit => ({
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
    const sent = fetch(destination.href, terms(destination))
    const next = others[tried]
    if (next === undefined) return sent
    // Try the next address only if no request can have arrived at this one.
    return sent.catch((error: unknown) => {
      if (!unconnectedCodes.has(networkCodeOf(error))) throw error
      return sendTo(next(), tried + 1)
    })
  }
  return sendTo(first, 0)
}
