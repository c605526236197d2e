// The cases that every library of Punctual passes: sdks/conformance/README.md.
import { describe, expect, test } from "bun:test"
import { parseDuration } from "../src/core/durations.ts"
import { badAnswer, mayRepeat, noAnswer, tookTooLong } from "../src/core/failures.ts"
import type { PunctualOptions } from "../src/core/options.ts"
import type { Paged } from "../src/core/Paged.ts"
import { type RepeatClass, repeatRules, waits } from "../src/core/repeats.ts"
import type { PunctualError } from "../src/errors.ts"
import { verifyWebhook } from "../src/webhooks.ts"
import {
  callsOf,
  casesOf,
  fileOf,
  nativeOf,
  outcomeOf,
  ScriptedClient,
  type ScriptedTry,
} from "./ConformanceRun.ts"

const now = "2030-01-01T00:00:00.000Z"

interface Case {
  readonly name: string
  readonly call: string
  readonly request: unknown
}

/** What a case says about an error, and the error in the same words. */
const wordsOf = (error: PunctualError): Record<string, unknown> => ({
  code: error.code,
  family: error.name.replace(/Error$/, "").replace(/^./, (letter) => letter.toLowerCase()),
  status: error.status,
  requestId: error.requestId,
  retryable: error.retryable,
  written: error.written,
  retryAfterMs: error.retryAfterMs,
})

describe("requests", () => {
  interface RequestCase extends Case {
    readonly client: PunctualOptions
    readonly dateOfAnEarlierAnswer?: string
    readonly sends?: {
      readonly path: string
      readonly body: object
      readonly bodyContains?: ReadonlyArray<string>
    }
    readonly refuses?: string
  }
  for (const { name, client, call, request, dateOfAnEarlierAnswer, sends, refuses } of casesOf<RequestCase>(
    "requests",
  )) {
    test(name, async () => {
      const date = dateOfAnEarlierAnswer === undefined ? [] : [{ headers: { date: dateOfAnEarlierAnswer } }]
      const scripted = new ScriptedClient([...date, {}], now, { namespace: undefined, ...client })
      if (date.length > 0) await scripted.punctual.exchange("service.get", {})
      const outcome = await outcomeOf(scripted.punctual, call, request)
      const sent = scripted.sent[date.length]
      if (sends === undefined) {
        expect(sent).toBeUndefined()
        expect(outcome).toMatchObject({ error: { code: "invalidRequest", written: "no", status: undefined } })
        expect((outcome as { error: Error }).error.message).toContain(refuses ?? "")
        return
      }
      expect(sent?.path).toBe(sends.path)
      expect(sent?.headers.get("content-type")).toBe("application/json")
      expect(JSON.parse(sent?.text ?? "")).toEqual(expectedOf(sends.body))
      for (const text of sends.bodyContains ?? []) expect(sent?.text).toContain(text)
    })
  }

  const expectedOf = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(expectedOf)
    if (typeof value !== "object" || value === null) return value
    if ("$anything" in value) return expect.anything()
    if ("$uuidV7" in value) {
      const hex = Date.parse(String(value.$uuidV7)).toString(16).padStart(12, "0")
      const start = `${hex.slice(0, 8)}-${hex.slice(8)}`
      return expect.stringMatching(new RegExp(`^${start}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`))
    }
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, expectedOf(member)]))
  }
})

describe("answers", () => {
  interface AnswerCase extends Case {
    readonly answer: string
    readonly rawPayloads?: boolean
    readonly value: unknown
  }
  for (const { name, call, request, answer, rawPayloads, value } of casesOf<AnswerCase>("answers")) {
    test(name, async () => {
      const { punctual } = new ScriptedClient([{ body: answer }], now)
      const options = rawPayloads === true ? { rawPayloads } : {}
      expect(await outcomeOf(punctual, call, request, options)).toEqual({ value: nativeOf(value) })
    })
  }
})

describe("problems", () => {
  interface ProblemCase extends Case, ScriptedTry {
    readonly error: object
  }
  for (const { name, call, request, error, ...answer } of casesOf<ProblemCase>("problems")) {
    test(name, async () => {
      const { punctual, sent } = new ScriptedClient([answer], now, { maxRetries: 0 })
      const outcome = await outcomeOf(punctual, call, request)
      expect(outcome).toHaveProperty("error")
      const { error: found } = outcome as { error: PunctualError }
      expect(wordsOf(found)).toMatchObject(error)
      if (answer.body?.startsWith("{") === true) expect(found.problem).toEqual(JSON.parse(answer.body))
      expect(sent.length).toBe(1)
    })
  }
})

describe("repeats", () => {
  interface RepeatCase extends Case {
    readonly client?: PunctualOptions
    readonly maxRetries?: number
    readonly deadlineMs?: number
    readonly tries: ReadonlyArray<ScriptedTry>
    readonly waitsMs: ReadonlyArray<number>
    readonly outcome: "answer" | object
  }
  for (const { name, call, request, client, maxRetries, deadlineMs, tries, ...wanted } of casesOf<RepeatCase>(
    "repeats",
  )) {
    test(name, async () => {
      const scripted = new ScriptedClient(tries, now, { ...client, maxRetries })
      const options = deadlineMs === undefined ? {} : { deadline: new Date(Date.parse(now) + deadlineMs) }
      const outcome = await outcomeOf(scripted.punctual, call, request, options)
      if (wanted.outcome === "answer") expect(outcome).toHaveProperty("value")
      else expect(wordsOf((outcome as { error: PunctualError }).error)).toMatchObject(wanted.outcome)
      expect(scripted.sent.length).toBe(tries.length)
      expect(new Set(scripted.sent.map(({ text }) => text)).size).toBe(1)
      expect(scripted.waitsMs).toEqual([...wanted.waitsMs])
    })
  }
})

describe("the retry table", () => {
  interface FailureRow {
    readonly failure?: "connectionRefused" | "connectionLost" | "timeout"
    readonly status?: number
    readonly isProblem?: boolean
    readonly written: "no" | "unknown"
    readonly repeat: ReadonlyArray<RepeatClass>
  }
  const table = fileOf<{ operations: object; waits: object; failures: ReadonlyArray<FailureRow> }>(
    "retries.json",
  )

  test("names the same operations, with the same rules", () => {
    expect<object>(repeatRules).toEqual(table.operations)
    expect<object>(waits).toEqual(table.waits)
  })

  const errorOfRow = ({ failure, status, isProblem = true, written }: FailureRow): PunctualError => {
    if (failure === "timeout") return tookTooLong(1, "")
    if (failure === "connectionRefused") return noAnswer({ code: "ECONNREFUSED" }, "")
    if (failure === "connectionLost") return noAnswer(new Error("reset"), "")
    const text = isProblem
      ? JSON.stringify({ code: "x", detail: "d", ...(status === 503 || status === 429 ? { written } : {}) })
      : ""
    return badAnswer({ status: status ?? 0, headers: new Headers(), text, place: "" })
  }

  for (const row of table.failures) {
    test(`${row.failure ?? row.status}${row.isProblem === false ? " of a gateway" : ""}, written ${row.written}`, () => {
      const error = errorOfRow(row)
      expect(error.written).toBe(row.written)
      const classes = (["read", "same", "never"] as const).filter((repeats) => mayRepeat(error, repeats))
      expect(classes).toEqual([...row.repeat])
    })
  }
})

describe("paging", () => {
  interface PagingCase extends Case {
    readonly pages: ReadonlyArray<string>
    readonly cursors: ReadonlyArray<string | null>
    readonly ids?: ReadonlyArray<string>
    readonly stopAfter?: number
    readonly limit?: number
    readonly fails?: boolean
  }
  for (const {
    name,
    call,
    request,
    pages,
    cursors,
    ids = [],
    stopAfter,
    limit,
    fails,
  } of casesOf<PagingCase>("paging")) {
    test(name, async () => {
      const { punctual, sent } = new ScriptedClient(
        pages.map((body) => ({ body })),
        now,
      )
      // The cases are JSON, so their requests have no types.
      const list = callsOf(punctual)[call]?.(request as never) as Paged<{ timerId: string }>
      const read = async (): Promise<ReadonlyArray<string>> => {
        if (limit !== undefined) return (await list.toArray({ limit })).map(({ timerId }) => timerId)
        const found: Array<string> = []
        for await (const { timerId } of list) {
          found.push(timerId)
          if (found.length === stopAfter) break
        }
        return found
      }
      if (fails === true) await expect(read()).rejects.toThrow("same cursor")
      else expect(await read()).toEqual([...ids])
      expect(sent.map(({ text }) => JSON.parse(text).cursor ?? null)).toEqual([...cursors])
    })
  }
})

describe("signatures", () => {
  interface SignatureCase {
    readonly name: string
    readonly secrets: ReadonlyArray<string>
    readonly headers: Record<string, string>
    readonly bodyBase64: string
    readonly nowMs: number
    readonly toleranceMs?: number
    readonly finding: string
  }
  for (const { name, headers, bodyBase64, finding, ...rest } of casesOf<SignatureCase>("signatures")) {
    test(name, async () => {
      const body = new Uint8Array(Buffer.from(bodyBase64, "base64"))
      expect<string>(await verifyWebhook({ headers: new Headers(headers), body, ...rest })).toBe(finding)
    })
  }
})

test("durations", () => {
  for (const { text, ms } of casesOf<{ text: string; ms: number | null }>("durations")) {
    expect([text, parseDuration(text) ?? null]).toEqual([text, ms])
  }
})
