// A client of the HTTP contract that records its requests and the answers. A request that broke off, or that got a 5xx,
// has no answer in the history: its result is unknown. The client builds bodies as text, so that a payload is sent with
// exactly the recorded bytes.
import type { Answer, Ask, HistoryRecorder, Key } from "./History.ts"

export interface RecordingClientOptions {
  readonly recorder: HistoryRecorder
  /** Called for each request, because a restarted service has another address, and several nodes may take turns. */
  readonly url: () => string
  readonly timeoutMs?: number
  /** The key that is sent with each request, if there is one. */
  readonly apiKey?: () => string | undefined
  /** Called at the end of every request, with any result. */
  readonly onExchange?: (exchange: Exchange) => void
}

/** One request and its result: a status, or why there is none. */
export interface Exchange {
  readonly url: string
  readonly call: string
  readonly sentAtMs: number
  readonly tookMs: number
  readonly status?: number
  readonly retryAfter?: string
  /** The problem's code and detail, or the runtime's error for a failed connection. */
  readonly failure?: string
}

export interface CreateRequest {
  readonly key: Key
  readonly executeAtMs: number
  /** JSON text, sent unchanged. */
  readonly payload?: string
  readonly callbackUrl: string
  /** How long the target may take, such as `"300s"`. If absent, the contract's default applies. */
  readonly timeout?: string
  readonly retryPolicy?: Readonly<Record<string, unknown>>
}

export interface UpdateRequest {
  readonly key: Key
  readonly executeAtMs?: number
  readonly payload?: string
}

interface TimerBody {
  readonly fireId: string
  readonly revision: number
}

export class RecordingClient {
  readonly #options: RecordingClientOptions

  constructor(options: RecordingClientOptions) {
    this.#options = options
  }

  /** The answer. Undefined if the result is unknown. */
  create(request: CreateRequest): Promise<Answer | undefined> {
    return this.#ask(askOf(request), "create", createJson(request), (body) => {
      const { result, timer } = body as { readonly result: string; readonly timer: TimerBody }
      return createAnswer(result, timer)
    })
  }

  /** One call. Each item is a separate request in the history. */
  async createMany(requests: ReadonlyArray<CreateRequest>): Promise<ReadonlyArray<Answer | undefined>> {
    const asks = requests.map((request) => this.#options.recorder.asked(askOf(request)))
    const response = await this.#post("createMany", `{"timers":[${requests.map(createJson).join(",")}]}`)
    if (response?.status !== 200) return requests.map(() => undefined)
    const { results } = response.body as { readonly results: ReadonlyArray<ItemResult> }
    return asks.map((ask, index) => {
      const item = results[index]
      const answer = item === undefined ? undefined : itemAnswer(item)
      if (answer !== undefined) this.#options.recorder.answered(ask, answer)
      return answer
    })
  }

  update(request: UpdateRequest): Promise<Answer | undefined> {
    const { key, executeAtMs, payload } = request
    const ask: Ask = {
      op: "update",
      key,
      ...(executeAtMs === undefined ? {} : { executeAtMs }),
      ...(payload === undefined ? {} : { payload: encoder.encode(payload) }),
    }
    const time = executeAtMs === undefined ? "" : `,"executeAt":"${new Date(executeAtMs).toISOString()}"`
    const body = `{${keyJson(key)}${time}${payload === undefined ? "" : `,"payload":${payload}`}}`
    return this.#ask(ask, "update", body, (answered) => {
      const { timer } = answered as { readonly timer: TimerBody }
      return { result: "changed", fireId: timer.fireId, revision: timer.revision }
    })
  }

  cancel(key: Key): Promise<Answer | undefined> {
    return this.#ask({ op: "cancel", key }, "delete", `{${keyJson(key)}}`, (body) => {
      const { result } = body as { readonly result: string }
      return result === "cancelled" || result === "inFlight"
        ? { result }
        : { result: "nothingDone", because: result }
    })
  }

  async #ask(
    request: Ask,
    call: string,
    json: string,
    read: (body: unknown) => Answer,
  ): Promise<Answer | undefined> {
    const { recorder } = this.#options
    const ask = recorder.asked(request)
    const response = await this.#post(call, json)
    if (response === undefined || response.status >= 500) return undefined
    const answer: Answer =
      response.status === 200
        ? read(response.body)
        : { result: "nothingDone", because: codeOf(response.body as Problem) }
    recorder.answered(ask, answer)
    return answer
  }

  #authorization(): Record<string, string> {
    const key = this.#options.apiKey?.()
    return key === undefined ? {} : { authorization: `Bearer ${key}` }
  }

  async #post(call: string, body: string): Promise<{ status: number; body: unknown } | undefined> {
    const { onExchange, timeoutMs = 10_000 } = this.#options
    const url = this.#options.url()
    const sentAtMs = Date.now()
    const startedAt = performance.now()
    const ended = (how: Pick<Exchange, "status" | "retryAfter" | "failure">): void =>
      onExchange?.({ url, call, sentAtMs, tookMs: performance.now() - startedAt, ...how })
    try {
      const response = await fetch(`${url}/api/v1/timers/${call}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...this.#authorization() },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      })
      const { status } = response
      const answered: unknown = await response.json()
      const retryAfter = response.headers.get("retry-after")
      ended({
        status,
        ...(retryAfter === null ? {} : { retryAfter }),
        ...(status === 200 ? {} : { failure: codeOf(answered as Problem) }),
      })
      return { status, body: answered }
    } catch (error) {
      ended({ failure: reasonOf(error) })
      return undefined
    }
  }
}

interface Problem {
  readonly status: number
  readonly code: string
  readonly detail?: string
}

type ItemResult = { readonly problem: Problem } | ({ readonly result: string } & TimerBody)

const encoder = new TextEncoder()

const keyJson = ({ namespace, timerId }: Key): string =>
  `"namespace":${JSON.stringify(namespace)},"timerId":${JSON.stringify(timerId)}`

const createJson = ({ key, executeAtMs, payload, retryPolicy, ...target }: CreateRequest): string =>
  `{${keyJson(key)},"executeAt":"${new Date(executeAtMs).toISOString()}",${targetJson(target)}` +
  `${retryPolicy === undefined ? "" : `,"retryPolicy":${JSON.stringify(retryPolicy)}`}` +
  `${payload === undefined ? "" : `,"payload":${payload}`}}`

const targetJson = ({ callbackUrl, timeout }: Pick<CreateRequest, "callbackUrl" | "timeout">): string =>
  timeout === undefined
    ? `"callbackUrl":${JSON.stringify(callbackUrl)}`
    : `"target":${JSON.stringify({ type: "webhook", url: callbackUrl, timeout })}`

const askOf = ({ key, executeAtMs, payload }: CreateRequest): Ask => ({
  op: "create",
  key,
  executeAtMs,
  ...(payload === undefined ? {} : { payload: encoder.encode(payload) }),
})

const createAnswer = (result: string, { fireId, revision }: TimerBody): Answer => {
  if (result === "created" || result === "replaced") return { result, fireId, revision }
  const nothing = { result: "nothingDone", because: result } as const
  return result === "alreadyFinished" ? { ...nothing, finishedAs: fireId } : nothing
}

const itemAnswer = (item: ItemResult): Answer | undefined => {
  if (!("problem" in item)) return createAnswer(item.result, item)
  return item.problem.status >= 500 ? undefined : { result: "nothingDone", because: codeOf(item.problem) }
}

const codeOf = ({ code, detail }: Problem): string => (detail === undefined ? code : `${code}: ${detail}`)

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return "code" in error && typeof error.code === "string" ? error.code : error.name
}
