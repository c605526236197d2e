// How an in-process Punctual is opened. What an option may say is what the setting of the same name may say.
import { invalidField } from "@punctual/api/invalidRequest"
import type { FieldError } from "@punctual/api/Problem"
import { formsOf, type Parsed, parseUrl } from "../ports/Adapter.ts"
import type { StoreAdapter, StoreChoice } from "../ports/StoreAdapter.ts"
import type { LogLevelName } from "../program/Logs.ts"
import { duration, settings } from "../settings/Settings.ts"
import { parsePayloadForm } from "./PayloadForm.ts"
import { PunctualError } from "./PunctualError.ts"

export interface PunctualOptions {
  /**
   * `memory:`, which is gone when it is closed, `sqlite:<file>`, or `postgres://…`. One process at a time: nothing
   * listens inside a program, so nodes of a cluster could not reach it.
   */
  readonly store: string
  /** `system`, unless a test is to move it by `advance`: `manual`, or `manual:<instant>` to begin at. Not on PostgreSQL. */
  readonly clock?: string
  /**
   * `value` unless given: payloads are values, which go through JSON. `text`: payloads are JSON texts, which stay as they
   * are, byte for byte.
   */
  readonly payloads?: "value" | "text"
  /** Fixed when the store is created: 16 unless given. */
  readonly shards?: number
  /** How long finished timers are kept: `7d` unless given. */
  readonly historyRetention?: string
  /** What webhooks may reach: `open` unless given; else a list such as `public,10.0.0.0/8,*.internal`. */
  readonly egress?: string
  /** What seals the secrets of signed webhooks; see TIMER_SECRET_KEY. On SQLite it is by default the key beside the file. */
  readonly secretKey?: string
  /** After how long a handler that has not ended counts as failed: `15s` unless given. */
  readonly handlerTimeout?: string
  /** How long `close` lets running handlers and webhooks finish: `25s` unless given. */
  readonly drainTimeout?: string
  /** How long `open` waits for a store that another has: `5s` unless given, and `15s` on PostgreSQL. */
  readonly openTimeout?: string
  /** What is logged to stderr: `warn` and worse unless given. */
  readonly log?: LogLevelName
  /**
   * The store has failed: nothing is acknowledged or fired any more. Unless given, the error is thrown outside of any
   * call, which ends the process; a restart recovers.
   */
  readonly onFatal?: (error: PunctualError) => void
}

const hourMs = 3_600_000

/** None unless given. */
const secretKeys = (text: string): Parsed<ReadonlyArray<Uint8Array>> =>
  text === "" ? { value: [] } : settings.secretKeys.parse(text)

/** By option, apart from the store: its parser, and what it says if it is not given. */
const readers = {
  clock: [settings.clock.parse, settings.clock.byDefault],
  payloads: [parsePayloadForm, "value"],
  shards: [settings.shards.parse, settings.shards.byDefault],
  historyRetention: [settings.historyRetentionMs.parse, settings.historyRetentionMs.byDefault],
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

/** All that is wrong is told at once. */
export const readOptions = (options: PunctualOptions, stores: ReadonlyArray<StoreAdapter>): OpenTerms => {
  const given: Readonly<Record<string, unknown>> = { ...options }
  const store = parseUrl(stores, String(given["store"] ?? ""))
  const isShared = "value" in store && store.value.adapter.isShared
  const { read, errors } = readEach(
    isShared ? { ...given, openTimeout: given["openTimeout"] ?? "15s" } : given,
  )
  if ("problem" in store) errors.unshift({ pointer: "/store", detail: store.problem })
  if (isShared && String(given["clock"] ?? "").startsWith("manual")) {
    errors.push({ pointer: "/clock", detail: whyNotManual(stores) })
  }
  errors.push(...unknownOptions(given))
  if (errors.length > 0 || "problem" in store) throw refusalOf(errors)
  // Every option has been read by its own parser.
  return { ...(read as Read), store: store.value, onFatal: options.onFatal ?? throwOutside }
}

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

/** Options that no reader reads. */
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

/** Another process on the same database would go by another time. */
const whyNotManual = (stores: ReadonlyArray<StoreAdapter>): string =>
  `must be system on a store that nodes can share, because they would disagree on the time: use ${formsOf(stores.filter(({ isShared }) => !isShared))} as store, or the system's clock`

const refusalOf = (errors: ReadonlyArray<FieldError>): PunctualError => {
  const [first = { pointer: "", detail: "is not valid" }] = errors
  const { detail } = invalidField(first.pointer, first.detail)
  return new PunctualError("invalidRequest", `Punctual cannot be opened: ${detail}`, { errors })
}

/** Like an error event that nobody listens for. */
const throwOutside = (error: PunctualError): void => {
  queueMicrotask(() => {
    throw error
  })
}
