// Calls a running service about its undeliverable messages.
import {
  DiscardMessageAnswer,
  type ListedMessage,
  ListMessagesAnswer,
  MessageAnswer,
  ReplayMessageAnswer,
  type StoredMessage,
} from "@punctual/api/Messages"
import { Effect } from "effect"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import { type Answered, callService } from "../client/ServiceClient.ts"
import type { CommandFailed } from "../frame/CommandRuntime.ts"

export interface MessagesPage {
  readonly messages: ReadonlyArray<ListedMessage>
  readonly nextCursor?: string
}

export class MessageClient {
  readonly #service: ServiceAddress

  constructor(service: ServiceAddress) {
    this.#service = service
  }

  /** The messages of one namespace, or of all if `namespace` is `undefined`. */
  list(
    namespace: string | undefined,
    limit: number,
    cursor?: string,
  ): Effect.Effect<Answered<MessagesPage>, CommandFailed> {
    const fields = { namespace, limit, cursor }
    return callService(this.#service, { path: "/messages/list", fields, answer: ListMessagesAnswer })
  }

  get(
    namespace: string,
    id: string,
  ): Effect.Effect<Answered<{ readonly message: StoredMessage }>, CommandFailed> {
    return callService(this.#service, {
      path: "/messages/get",
      fields: { namespace, id },
      answer: MessageAnswer,
    })
  }

  replay(namespace: string, id: string): Effect.Effect<"replayed" | "duplicate", CommandFailed> {
    const fields = { namespace, id }
    const call = { path: "/messages/replay", fields, answer: ReplayMessageAnswer }
    return Effect.map(callService(this.#service, call), ({ value }) => value.result)
  }

  discard(namespace: string, id: string): Effect.Effect<"discarded", CommandFailed> {
    const fields = { namespace, id }
    const call = { path: "/messages/discard", fields, answer: DiscardMessageAnswer }
    return Effect.map(callService(this.#service, call), ({ value }) => value.result)
  }
}
