// Reads and writes the text of calls for which the schemas of the contract are not enough. Payloads are cut out of a
// request exactly as they were sent. Answers with timers are written by hand, because they are on the hot path.

import { AuditRecord } from "@punctual/api/AuditRecord"
import { StoredMessage } from "@punctual/api/Messages"
import { joinInSlices } from "@punctual/http/joinInSlices"
import { problemJson } from "@punctual/http/problemResponse"
import type { PayloadPlace } from "@punctual/http/RequestText"
import { SchemaParser } from "effect"
import type { AnswerOf } from "../calls/Call.ts"
import type { Calls } from "../calls/Calls.ts"
import type { MessageFound } from "../calls/MessageCalls.ts"
import type { CreatedItem } from "../calls/TimerCalls.ts"
import { timerJson } from "./TimerJson.ts"

export interface CallText<Answer> {
  /** Where the payloads of the request are. They become bytes before the schema decodes the request. */
  readonly payloads?: PayloadPlace
  /** The header `traceparent` is a part of the request. */
  readonly readsTrace?: true
  /** Writes the JSON text of an answer. If it is absent, the schema of the contract encodes the answer. */
  readonly write?: (answer: Answer) => string | Promise<string>
  /** More headers of the answer. */
  readonly headersOf?: (answer: Answer) => Readonly<Record<string, string>>
}

/** The texts of the calls of one group, by name. */
type CallTexts<Group> = { readonly [name in keyof Group]?: CallText<AnswerOf<Group[name]>> }

const withCookie = ({ cookie }: { readonly cookie: string }) => ({ "set-cookie": cookie })

export const callTexts: {
  readonly timers: CallTexts<Calls["timers"]>
  readonly messages: CallTexts<Calls["messages"]>
  readonly sessions: CallTexts<Calls["sessions"]>
  readonly audit: CallTexts<Calls["audit"]>
} = {
  sessions: { create: { headersOf: withCookie }, end: { headersOf: withCookie } },
  audit: {
    list: {
      write: ({ records, unreadable, nextCursor }) => {
        const rest = JSON.stringify({ unreadable, nextCursor }).slice(1)
        return wrap('{"records":[', joinInSlices(records, recordJson), `]${rest === "}" ? rest : `,${rest}`}`)
      },
    },
  },
  messages: { get: { write: (found) => `{"message":${messageJson(found)}}` } },
  timers: {
    create: {
      readsTrace: true,
      payloads: {},
      write: ({ result, timer, warnings }) =>
        `{"result":"${result}","timer":${timerJson(timer, false)}${warningsJson(warnings)}}`,
    },
    createMany: {
      payloads: { inItemsOf: "timers" },
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
        return wrap('{"timers":[', shown, `]${looked}${cursorJson(nextCursor)}}`)
      },
    },
    lives: {
      write: ({ lives, nextCursor }) => {
        const shown = joinInSlices(lives, (timer) => timerJson(timer, true))
        return wrap('{"lives":[', shown, `]${cursorJson(nextCursor)}}`)
      },
    },
  },
}

const cursorJson = (nextCursor: string | undefined): string =>
  nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(nextCursor)}`

const wrap = (before: string, text: string | Promise<string>, after: string): string | Promise<string> =>
  typeof text === "string" ? before + text + after : text.then((written) => before + written + after)

const encodeRecord = SchemaParser.encodeUnknownSync(AuditRecord)

const recordJson = (record: AuditRecord): string => JSON.stringify(encodeRecord(record))

const encodeMessage = SchemaParser.encodeUnknownSync(StoredMessage)

/** A valid message goes into the answer unchanged. */
const messageJson = ({ message, original, isSound }: MessageFound): string => {
  const facts = JSON.stringify(encodeMessage(message))
  if (original === undefined) return facts
  const bytes = Buffer.from(original)
  const body = isSound ? `"envelope":${bytes.toString("utf8")}` : `"raw":"${bytes.toString("base64")}"`
  return `${facts.slice(0, -1)},${body}}`
}

const itemJson = (item: CreatedItem): string =>
  "problem" in item
    ? `{"problem":${problemJson(item.problem)}}`
    : `{"result":"${item.result}","timerId":${JSON.stringify(item.timerId)},"revision":${item.revision}` +
      `,"fireId":${JSON.stringify(item.fireId)}${warningsJson(item.warnings)}}`

const warningsJson = (warnings: ReadonlyArray<string> | undefined): string =>
  warnings === undefined ? "" : `,"warnings":${JSON.stringify(warnings)}`
