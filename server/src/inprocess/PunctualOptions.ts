// The options of an in-process Punctual. An option accepts the same values as the setting of the same name.
import { invalidField } from "@punctual/api/invalidRequest"
import type { FieldError } from "@punctual/api/Problem"
import { formsOf, type Parsed, parseUrl } from "../ports/Adapter.ts"
import type { StoreAdapter, StoreChoice } from "../ports/StoreAdapter.ts"
import type { LogLevelName } from "../program/Logs.ts"
import { duration } from "../settings/Setting.ts"
import { settings } from "../settings/Settings.ts"
import { shardCount, shardsText } from "../settings/shardCount.ts"
import { parsePayloadForm } from "./PayloadForm.ts"
import { PunctualError } from "./PunctualError.ts"

export interface PunctualOptions {
  /**
   * `memory:`, which loses everything when it is closed, `sqlite:<file>`, or `postgres://…`. Only one process may use
   * it at a time: a program does not listen for other nodes, so it cannot be part of a cluster.
   */
  readonly store: string
  /** `system` (the default), or for tests `manual` or `manual:<start>`, which `advance` moves. Not on PostgreSQL. */
  readonly clock?: string
  /**
   * `value` (the default): payloads are values, which are converted to JSON. `text`: payloads are JSON texts, which
   * stay the same byte for byte.
   */
  readonly payloads?: "value" | "text"
  /** The number of shards (default 16, or what the store prefers). It is fixed when the store is created. */
  readonly shards?: number
  /** How long finished timers are kept (default `7d`). */
  readonly historyRetention?: string
  /** How long records of what operators did are kept (default `90d`). */
  readonly auditRetention?: string
  /** Which addresses webhooks may reach: `open` (the default) or a list such as `public,private,*.internal`. */
  readonly egress?: string
  /** The key that seals webhook secrets; see TIMER_SECRET_KEY. On SQLite the default is the key beside the file. */
  readonly secretKey?: string
  /** An attempt fails if its handler has not ended after this time (default `15s`). */
  readonly handlerTimeout?: string
  /** How long `close` waits for running handlers and webhooks (default `25s`). */
  readonly drainTimeout?: string
  /** How long `open` waits for a store that another process has open (default `5s`, on PostgreSQL `15s`). */
  readonly openTimeout?: string
  /** The lowest level that is logged to stderr (default `warn`). */
  readonly log?: LogLevelName
  /**
   * Called when the store has failed: Punctual acknowledges and fires nothing any more. Without this option the error
   * is thrown outside of any call, which ends the process. A restart recovers.
   */
  readonly onFatal?: (error: PunctualError) => void
}

const hourMs = 3_600_000

/** There are no keys by default. */
const secretKeys = (text: string): Parsed<ReadonlyArray<Uint8Array>> =>
  text === "" ? { value: [] } : settings.secretKeys.parse(text)

/** The parser and the default of each option, except for the store. */
const readers = {
  clock: [settings.clock.parse, settings.clock.byDefault],
  payloads: [parsePayloadForm, "value"],
  shards: [settings.shards.parse, settings.shards.byDefault],
  historyRetention: [settings.historyRetentionMs.parse, settings.historyRetentionMs.byDefault],
  auditRetention: [settings.auditRetentionMs.parse, settings.auditRetentionMs.byDefault],
  egress: [settings.egress.parse, "open"],
  secretKey: [secretKeys, ""],
  handlerTimeout: [duration(1, hourMs), "15s"],
  drainTimeout: [settings.drainMs.parse, settings.drainMs.byDefault],
  openTimeout: [duration(0, hourMs), "5s"],
  log: [settings.logLevel.parse, "warn"],
} as const satisfies Record<string, readonly [(text: string) => Parsed<unknown>, string]>

type Read = {
  readonly [option in keyof typeof readers]: Extract<
    ReturnType<(typeof readers)[option][0]>,
    { readonly value: unknown }
  >["value"]
}

export interface OpenTerms extends Read {
  readonly store: StoreChoice
  readonly onFatal: (error: PunctualError) => void
}

/** Reports all errors at once. */
export const readOptions = (options: PunctualOptions, stores: ReadonlyArray<StoreAdapter>): OpenTerms => {
  const given: Readonly<Record<string, unknown>> = { ...options }
  const store = parseUrl(stores, String(given["store"] ?? ""))
  const adapter = "value" in store ? store.value.adapter : undefined
  const isShared = adapter?.isShared === true
  const { read, errors } = readEach({
    ...given,
    shards: shardsText(asText(given["shards"]), adapter, settings.shards),
    ...(isShared ? { openTimeout: given["openTimeout"] ?? "15s" } : {}),
  })
  const count = shardCount(String(read["shards"]), adapter, settings.shards)
  if ("problem" in count && read["shards"] !== undefined)
    errors.push({ pointer: "/shards", detail: count.problem })
  if ("problem" in store) {
    const likely = store.guess === undefined ? "" : `, so most likely ${store.guess}`
    errors.unshift({ pointer: "/store", detail: `${store.problem}${likely}` })
  }
  if (isShared && String(given["clock"] ?? "").startsWith("manual")) {
    errors.push({ pointer: "/clock", detail: whyNotManual(stores) })
  }
  errors.push(...unknownOptions(given))
  if (errors.length > 0 || "problem" in store) throw refusalOf(errors)
  // The parser of each option has read it.
  return { ...(read as Read), store: store.value, onFatal: options.onFatal ?? throwOutside }
}

const asText = (given: unknown): string | undefined => (given === undefined ? undefined : String(given))

const readEach = (given: Readonly<Record<string, unknown>>) => {
  const errors: Array<FieldError> = []
  const read: Record<string, unknown> = {}
  for (const [option, [parse, byDefault]] of Object.entries(readers)) {
    const parsed = parse(String(given[option] ?? byDefault))
    if ("value" in parsed) read[option] = parsed.value
    else errors.push({ pointer: `/${option}`, detail: parsed.problem })
  }
  return { read, errors }
}

/** Options without a parser. */
const others = ["store", "onFatal"]

const unknownOptions = (given: object): ReadonlyArray<FieldError> => {
  const known = [...Object.keys(readers), ...others]
  return Object.keys(given)
    .filter((option) => !known.includes(option))
    .map((option) => ({
      pointer: `/${option}`,
      detail: `unknown option: remove it, or use one of ${known.join(", ")}`,
    }))
}

/** Another process on the same database would use another time. */
const whyNotManual = (stores: ReadonlyArray<StoreAdapter>): string =>
  `must be system on a store that nodes can share, because they would disagree on the time: use ${formsOf(stores.filter(({ isShared }) => !isShared))} as store, or the system clock`

const refusalOf = (errors: ReadonlyArray<FieldError>): PunctualError => {
  const [first = { pointer: "", detail: "is not valid" }] = errors
  const { detail } = invalidField(first.pointer, first.detail)
  return new PunctualError("invalidRequest", `Punctual cannot be opened: ${detail}`, { errors })
}

/** Acts like an error event without a listener. */
const throwOutside = (error: PunctualError): void => {
  queueMicrotask(() => {
    throw error
  })
}
