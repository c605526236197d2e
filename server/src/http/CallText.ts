// How the text of a call is read and written where the contract's schemas alone would not do: payloads are cut out of a
// request as they were sent, and answers with timers are written by hand, for they are built on the hot path.

import { elementSpans, type JsonSpan, memberSpan, spanBytes } from "@punctual/api/JsonSpan"
import { StoredMessage } from "@punctual/api/Messages"
import { SchemaParser } from "effect"
import type { AnswerOf } from "../calls/Call.ts"
import type { Calls } from "../calls/Calls.ts"
import type { MessageFound } from "../calls/MessageCalls.ts"
import type { CreatedItem } from "../calls/TimerCalls.ts"
import { problemJson } from "./problemResponse.ts"
import { timerJson } from "./TimerJson.ts"

export interface CallText<Answer> {
  /** Puts the bytes of payloads in the place of what was parsed of them. `text` is what the input was parsed from. */
  readonly takePayloads?: (input: unknown, text: string) => void
  /** The header `traceparent` is a part of the request. */
  readonly readsTrace?: true
  /** The JSON text of an answer; what the contract's schema makes of it, if there is none. */
  readonly write?: (answer: Answer) => string
}

/** For the calls of one group, by name. */
type CallTexts<Group> = { readonly [name in keyof Group]?: CallText<AnswerOf<Group[name]>> }

export const callTexts: {
  readonly timers: CallTexts<Calls["timers"]>
  readonly messages: CallTexts<Calls["messages"]>
} = {
  messages: { get: { write: (found) => `{"message":${messageJson(found)}}` } },
  timers: {
    create: {
      readsTrace: true,
      takePayloads: (input, text) => {
        if (hasPayload(input)) input.payload = bytesAt(text, memberSpan(text, "payload"))
      },
      write: ({ result, timer, warnings }) =>
        `{"result":"${result}","timer":${timerJson(timer, false)}${warningsJson(warnings)}}`,
    },
    createMany: {
      takePayloads: (input, text) => {
        if (typeof input !== "object" || input === null || !("timers" in input)) return
        if (!Array.isArray(input.timers)) return
        const spans = elementSpans(text, "timers", "payload")
        input.timers.forEach((item: unknown, index) => {
          if (hasPayload(item)) item.payload = bytesAt(text, spans[index])
        })
      },
      write: ({ results }) => `{"results":[${results.map(itemJson).join(",")}]}`,
    },
    get: { write: ({ timer }) => `{"timer":${timerJson(timer, true)}}` },
    update: {
      takePayloads: (input, text) => {
        // A payload of null clears it.
        if (hasPayload(input) && input.payload !== null) {
          input.payload = bytesAt(text, memberSpan(text, "payload"))
        }
      },
      write: ({ timer, warnings }) => `{"timer":${timerJson(timer, false)}${warningsJson(warnings)}}`,
    },
    delete: { write: ({ result }) => `{"result":"${result}"}` },
    list: {
      write: ({ timers, includesPayload, examined, nextCursor }) => {
        const shown = timers.map((timer) => timerJson(timer, includesPayload)).join(",")
        const looked = examined === undefined ? "" : `,"examined":${examined}`
        const cursor = nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(nextCursor)}`
        return `{"timers":[${shown}]${looked}${cursor}}`
      },
    },
  },
}

const encodeMessage = SchemaParser.encodeUnknownSync(StoredMessage)

/** A sound message stands in the answer as it came. */
const messageJson = ({ message, original, isSound }: MessageFound): string => {
  const bytes = Buffer.from(original)
  const body = isSound ? `"envelope":${bytes.toString("utf8")}` : `"raw":"${bytes.toString("base64")}"`
  return `${JSON.stringify(encodeMessage(message)).slice(0, -1)},${body}}`
}

const hasPayload = (input: unknown): input is { payload: unknown } =>
  typeof input === "object" && input !== null && Object.hasOwn(input, "payload")

const bytesAt = (text: string, span: JsonSpan | undefined): Uint8Array => {
  if (span === undefined) throw new Error("a payload that was parsed is not in its text")
  return spanBytes(text, span)
}

const itemJson = (item: CreatedItem): string =>
  "problem" in item
    ? `{"problem":${problemJson(item.problem)}}`
    : `{"result":"${item.result}","timerId":${JSON.stringify(item.timerId)},"revision":${item.revision}` +
      `,"fireId":${JSON.stringify(item.fireId)}${warningsJson(item.warnings)}}`

const warningsJson = (warnings: ReadonlyArray<string> | undefined): string =>
  warnings === undefined ? "" : `,"warnings":${JSON.stringify(warnings)}`
