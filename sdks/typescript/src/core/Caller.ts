/** Calls operations of the API by their ids: it writes the body, sends it, and reads the answer. */
import { ConnectionError } from "../errors.ts"
import type { Connection } from "./Connection.ts"
import type { CallOptions, DelayFrom } from "./options.ts"
import { type Page, Paged } from "./Paged.ts"
import { jsonText, parseWithRawPayloads } from "./RawJson.ts"
import { type Fields, repeatClassOf } from "./repeats.ts"

/** An answer with its exact text. */
export interface Answer<Value> {
  readonly value: Value
  /** The JSON text, as the service wrote it. */
  readonly text: string
  /** The id of the request in the logs of the service. */
  readonly requestId: string | undefined
}

/** `payloadDepth` says where raw payloads are in the answer: see `parseWithRawPayloads`. */
export interface ReadOptions extends CallOptions {
  readonly payloadDepth?: number | undefined
}

/** The namespace of a client, and its way to the service. */
export class Caller {
  readonly namespace: string | undefined
  readonly delayFrom: DelayFrom
  readonly #connection: Connection

  constructor(connection: Connection, namespace: string | undefined, delayFrom: DelayFrom = "client") {
    this.#connection = connection
    this.namespace = namespace
    this.delayFrom = delayFrom
  }

  /** The time of the service. */
  nowMs(): number {
    return this.#connection.nowMs()
  }

  /** The answer with its exact text. */
  async exchange<Value>(
    operation: string,
    fields: object,
    options: ReadOptions = {},
  ): Promise<Answer<Value>> {
    // Every object has fields; its type need not say which.
    const repeats = repeatClassOf(operation, fields as Fields)
    const { text, status, requestId } = await this.#connection.send(
      {
        operation,
        path: pathOf(operation),
        body: jsonText(fields),
        repeats,
      },
      options,
    )
    try {
      const { payloadDepth } = options
      const value = payloadDepth === undefined ? JSON.parse(text) : parseWithRawPayloads(text, payloadDepth)
      return { value, text, requestId }
    } catch (cause) {
      throw new ConnectionError({
        code: "unreadableAnswer",
        message: `the answer of ${operation} is not JSON: check that the URL is that of a Punctual service`,
        status,
        requestId,
        written: repeats === "read" ? "no" : "unknown",
        retryable: false,
        cause,
      })
    }
  }

  /** The value of the answer. */
  async call<Value>(operation: string, fields: object, options?: ReadOptions): Promise<Value> {
    return (await this.exchange<Value>(operation, fields, options)).value
  }

  /** The list that the operation answers in pages. `itemsOf` finds the items in a page. */
  list<Item, Answered extends { readonly nextCursor?: string }>(
    operation: string,
    fields: Fields,
    itemsOf: (page: Answered) => ReadonlyArray<Item>,
    options?: ReadOptions,
  ): Paged<Item> {
    return new Paged(async (cursor): Promise<Page<Item>> => {
      const request = cursor === undefined ? fields : { ...fields, cursor }
      const page = await this.call<Answered>(operation, request, options)
      return { items: itemsOf(page), nextCursor: page.nextCursor }
    })
  }

  /** The path of an answer that does not end, with its query. */
  open(path: string, headers: Readonly<Record<string, string>>, options?: CallOptions): Promise<Response> {
    return this.#connection.open(path, headers, options)
  }
}

/** `timers.create` is at `timers/create`, and `cluster.cluster` at `cluster`. */
const pathOf = (operation: string): string => {
  const [group = "", name] = operation.split(".")
  return group === name ? group : `${group}/${name}`
}
