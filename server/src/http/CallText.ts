// Reads and writes the text of calls for which the schemas of the contract are not enough. Payloads are cut out of a
// request exactly as they were sent. Answers with timers are written by hand, because they are on the hot path.

import { StoredMessage } from "@punctual/api/Messages"
import { SchemaParser } from "effect"
import type { AnswerOf } from "../calls/Call.ts"
import type { Calls } from "../calls/Calls.ts"
import type { MessageFound } from "../calls/MessageCalls.ts"
import type { CreatedItem } from "../calls/TimerCalls.ts"
import { joinInSlices } from "./joinInSlices.ts"
import { problemJson } from "./problemResponse.ts"
import type { PayloadPlace } from "./RequestText.ts"
import { timerJson } from "./TimerJson.ts"

export interface CallText<Answer> {
  /** Where the payloads of the request are. They become bytes before the schema decodes the request. */
  readonly payloads?: PayloadPlace
  /** The header `traceparent` is a part of the request. */
  readonly readsTrace?: true
  /** Writes the JSON text of an answer. If it is absent, the schema of the contract encodes the answer. */
  readonly write?: (answer: Answer) => string | Promise<string>
}

/** The texts of the calls of one group, by name. */
type CallTexts<Group> = { readonly [name in keyof Group]?: CallText<AnswerOf<Group[name]>> }

export const callTexts: {
  readonly timers: CallTexts<Calls["timers"]>
  readonly messages: CallTexts<Calls["messages"]>
} = {
  messages: { get: { write: (found) => `{"message":${messageJson(found)}}` } },
  timers: {
    create: {
      readsTrace: true,
      payloads: {},
      write: ({ result, timer, warnings }) =>
        `{"result":"${result}","timer":${timerJson(timer, false)}${warningsJson(warnings)}}`,
    },
    createMany: {
      payloads: { inTimers: true },
      write: ({ results }) => wrap('{"results":[', joinInSlices(results, itemJson), "]}"),
    },
    get: { write: ({ timer }) => `{"timer":${timerJson(timer, true)}}` },
    update: {
      payloads: { nullClears: true },
      write: ({ timer, warnings }) => `{"timer":${timerJson(timer, false)}${warningsJson(warnings)}}`,
    },
    delete: { write: ({ result }) => `{"result":"${result}"}` },
    list: {
      write: ({ timers, includesPayload, examined, nextCursor }) => {
        const shown = joinInSlices(timers, (timer) => timerJson(timer, includesPayload))
        const looked = examined === undefined ? "" : `,"examined":${examined}`
        const cursor = nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(nextCursor)}`
        return wrap('{"timers":[', shown, `]${looked}${cursor}}`)
      },
    },
  },
}

const wrap = (before: string, text: string | Promise<string>, after: string): string | Promise<string> =>
  typeof text === "string" ? before + text + after : text.then((written) => before + written + after)

const encodeMessage = SchemaParser.encodeUnknownSync(StoredMessage)

/** A valid message goes into the answer unchanged. */
const messageJson = ({ message, original, isSound }: MessageFound): string => {
  const bytes = Buffer.from(original)
  const body = isSound ? `"envelope":${bytes.toString("utf8")}` : `"raw":"${bytes.toString("base64")}"`
  return `${JSON.stringify(encodeMessage(message)).slice(0, -1)},${body}}`
}

const itemJson = (item: CreatedItem): string =>
  "problem" in item
    ? `{"problem":${problemJson(item.problem)}}`
    : `{"result":"${item.result}","timerId":${JSON.stringify(item.timerId)},"revision":${item.revision}` +
      `,"fireId":${JSON.stringify(item.fireId)}${warningsJson(item.warnings)}}`

const warningsJson = (warnings: ReadonlyArray<string> | undefined): string =>
  warnings === undefined ? "" : `,"warnings":${JSON.stringify(warnings)}`
