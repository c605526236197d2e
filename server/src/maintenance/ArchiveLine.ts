// The format of an archive file: JSON lines. The first line identifies the format, and the last one contains the
// counts, so that a truncated file is detected. Derived values are not written. A payload is text if it is UTF-8, so
// that people can read it, and base64 otherwise.
import { malformedMessage } from "@punctual/api/malformedMessage"
import { Namespace } from "@punctual/api/Namespace"
import { TimerId } from "@punctual/api/TimerId"
import { Result, Schema, SchemaParser } from "effect"
import { keyOf } from "../domain/TimerKey.ts"
import type { ArchivedItem } from "../domain/WriteItem.ts"
import type { SettingsRecord } from "../engine/namespaces/SettingsRecords.ts"
import { SettingsShape } from "../wire/settingsShape.ts"
import { lifeFields, SpecShape, timerFields, withOneLog } from "../wire/timerShapes.ts"

/** Increases with every change that an older program would misread. */
const version = 1

const { optionalKey } = Schema

const SinceEpoch = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
  message: "must not be before 1970",
})

const bodyFields = {
  spec: SpecShape,
  payload: optionalKey(Schema.String),
  payloadBase64: optionalKey(Schema.String.check(Schema.isBase64())),
}

/** A file may come from anywhere. No call could reach a timer with another key, and one due before 1970 would never fire. */
const soundFields = { namespace: Namespace, timerId: TimerId, executeAt: SinceEpoch }

const ItemLine = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("pending"),
    ...timerFields,
    ...bodyFields,
    ...soundFields,
    fireAt: SinceEpoch,
  }),
  Schema.Struct({ kind: Schema.Literal("ended"), ...lifeFields, ...bodyFields, ...soundFields }),
])

const SettingsLine = Schema.Struct({
  kind: Schema.Literal("settings"),
  namespace: Schema.String,
  updatedAt: Schema.Int,
  settings: SettingsShape,
})

const HeadLine = Schema.Struct({ kind: Schema.Literal("punctualArchive"), version: Schema.Int })

const EndLine = Schema.Struct({
  kind: Schema.Literal("end"),
  items: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
})

/** Without the version, which has a meaning only within its store. */
export type ArchivedSettings = Pick<SettingsRecord, "namespace" | "updatedAt" | "settings">

export type ArchiveLine =
  | { readonly kind: "item"; readonly item: ArchivedItem }
  | { readonly kind: "settings"; readonly record: ArchivedSettings }
  | { readonly kind: "end"; readonly items: number }

export const headLine = JSON.stringify({ kind: "punctualArchive", version })

export const endLine = (items: number): string => JSON.stringify({ kind: "end", items })

export const itemLine = (item: ArchivedItem): string => {
  const { uuid: _, payload, ...rest } = item.kind === "pending" ? item.timer : item.life
  return JSON.stringify({ kind: item.kind, ...rest, ...payloadFields(payload) })
}

export const settingsLine = ({ namespace, updatedAt, settings }: ArchivedSettings): string =>
  JSON.stringify({ kind: "settings", namespace, updatedAt, settings })

/** Why the first line of a file does not belong to an archive. `undefined` if it does. */
export const whyNoArchive = (line: string): string | undefined => {
  const head = decodeHead(parsed(line))
  if (Result.isFailure(head)) return "this is not an archive: create one with punctual export"
  return head.success.version === version
    ? undefined
    : `this archive has version ${head.success.version}, and this program reads ${version}: import it with the release that made it`
}

/** Reads a line after the first, or says what is wrong with it. */
export const readLine = (line: string): Result.Result<ArchiveLine, string> => {
  const json = parsed(line)
  if (json === undefined) return Result.fail("it is not JSON")
  const end = decodeEnd(json)
  if (Result.isSuccess(end)) return Result.succeed({ kind: "end", items: end.success.items })
  if (isSettings(json)) {
    const settings = decodeSettings(json)
    if (Result.isFailure(settings)) return Result.fail(malformedMessage(settings.failure))
    const { kind, ...record } = settings.success
    return Result.succeed({ kind, record })
  }
  const decoded = decodeItem(json)
  if (Result.isFailure(decoded)) return Result.fail(malformedMessage(decoded.failure))
  return Result.succeed({ kind: "item", item: itemOf(decoded.success) })
}

const strictly = { onExcessProperty: "error" } as const
const decodeHead = SchemaParser.decodeUnknownResult(HeadLine, strictly)
const decodeEnd = SchemaParser.decodeUnknownResult(EndLine, strictly)
const decodeSettings = SchemaParser.decodeUnknownResult(SettingsLine, strictly)
const decodeItem = SchemaParser.decodeUnknownResult(ItemLine, strictly)

const isSettings = (json: unknown): boolean =>
  typeof json === "object" && json !== null && "kind" in json && json.kind === "settings"

const itemOf = (line: typeof ItemLine.Type): ArchivedItem => {
  const { payload: text, payloadBase64, ...rest } = line
  const payload = text === undefined ? bytesOf(payloadBase64) : encoder.encode(text)
  const key = keyOf(line.namespace, line.timerId)
  const body = { ...key, ...(payload === undefined ? {} : { payload }) }
  if (rest.kind === "pending") {
    const { kind, ...timer } = rest
    return { kind, timer: { ...withOneLog(timer), ...body } }
  }
  const { kind, ...life } = rest
  return { kind, life: { ...withOneLog(life), ...body } }
}

const encoder = new TextEncoder()
/** A byte order mark is kept, because it belongs to the payload like any other byte. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const payloadFields = (payload: Uint8Array | undefined) => {
  if (payload === undefined) return {}
  try {
    return { payload: decoder.decode(payload) }
  } catch {
    return { payloadBase64: Buffer.from(payload).toString("base64") }
  }
}

const bytesOf = (base64: string | undefined): Uint8Array | undefined =>
  base64 === undefined ? undefined : Uint8Array.from(Buffer.from(base64, "base64"))

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
