// The lines of an archive. Each is read as it was written, byte for byte, and nothing else is accepted.
import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import fc from "fast-check"
import type { ArchivedItem } from "../../src/domain/WriteItem.ts"
import {
  endLine,
  headLine,
  itemLine,
  readLine,
  settingsLine,
  whyNoArchive,
} from "../../src/maintenance/ArchiveLine.ts"
import { sampleTimer } from "../../testkit/timers.ts"

const pending = (payload?: Uint8Array): ArchivedItem => ({
  kind: "pending",
  timer: sampleTimer({
    timerId: "a\u2028☂",
    fireId: "01976f5e-7c00-7000-8000-000000000000",
    attempts: 2,
    firstAttemptAt: 5,
    attemptLog: [
      { at: 5, durationMs: 4 },
      { at: 7, durationMs: 3, status: 500, error: "no" },
    ],
    askedAt: 9,
    ...(payload === undefined ? {} : { payload }),
  }),
})

const readBack = (item: ArchivedItem): ArchivedItem | undefined => {
  const read = readLine(itemLine(item))
  return Result.isSuccess(read) && read.success.kind === "item" ? read.success.item : undefined
}

describe("a line", () => {
  test("restores the timer with its payload, for any bytes", () => {
    expect(readBack(pending())).toEqual(pending())
    const withMark = new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])
    expect(readBack(pending(withMark))).toEqual(pending(withMark))
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.string({ unit: "binary" })), (given) => {
        const payload = typeof given === "string" ? new TextEncoder().encode(given) : Uint8Array.from(given)
        expect(readBack(pending(payload))).toEqual(pending(payload))
      }),
    )
  })

  test("shows a text payload as text, and is one line", () => {
    const line = itemLine(pending(new TextEncoder().encode('{"n":\n1}')))
    expect(line).not.toContain("\n")
    expect(JSON.parse(line)).toMatchObject({ kind: "pending", payload: '{"n":\n1}' })
    expect(JSON.parse(itemLine(pending(new Uint8Array([0xff]))))).toMatchObject({ payloadBase64: "/w==" })
  })

  test("restores an ended life with all its fields", () => {
    const { fireAt: _, updatedAt: __, ...rest } = sampleTimer({ payload: new Uint8Array([1]) })
    const ended: ArchivedItem = {
      kind: "ended",
      life: {
        ...rest,
        state: "dead",
        finishedAt: 9,
        latenessMs: 4,
        reason: "expired",
        endedBy: "c",
        attemptLog: [{ at: 1, durationMs: 2 }],
      },
    }
    expect(readBack(ended)).toEqual(ended)
  })

  test("brings back every term of the timer, and who is told of what died", () => {
    const { spec } = sampleTimer()
    const onDead = {
      type: "webhook",
      url: "https://h/",
      method: "POST",
      timeoutMs: 5,
      body: "envelope",
    } as const
    const death = { timerId: "a", fireId: "f", revision: 1, executeAt: 2, reason: "refused", attempts: 3 }
    const lastAttempt = { at: 5, durationMs: 6, status: 410, error: "gone" }
    for (const given of [
      { ...spec, expireAfterMs: 5, onExpire: "drop", onDead } as const,
      { ...spec, retryPolicy: { ...spec.retryPolicy, waitsMs: [5, 6] }, onDead: { type: "event" } as const },
      { ...spec, death },
      { ...spec, death: { ...death, lastAttempt } },
    ]) {
      const item: ArchivedItem = {
        kind: "pending",
        timer: sampleTimer({ spec: given, traceparent: "00-a-b-01" }),
      }
      expect(readBack(item)).toEqual(item)
    }
    const settings = { onDead, retryPolicy: { ...spec.retryPolicy, waitsMs: [5] } }
    const read = readLine(settingsLine({ namespace: "shop", updatedAt: 1, settings }))
    expect(Result.isSuccess(read) && read.success).toMatchObject({ kind: "settings", record: { settings } })
  })

  test("from before there was a log has the last attempt as a log of one", () => {
    const { attemptLog: _, ...line } = JSON.parse(itemLine(pending()))
    const read = Result.getOrThrow(
      readLine(JSON.stringify({ ...line, lastAttempt: { at: 7, durationMs: 3 } })),
    )
    expect(read).toMatchObject({ item: { timer: { attemptLog: [{ at: 7, durationMs: 3 }] } } })
    expect(JSON.stringify(read)).not.toContain("lastAttempt")
  })

  test("restores settings, of a namespace or of the service", () => {
    const record = {
      namespace: "_service",
      updatedAt: 5,
      settings: {
        webhookSecrets: [{ sealed: "s", fingerprint: "f" }],
        maxPending: 0,
        pastPauses: [{ fromMs: 1, untilMs: 2 }],
        pause: { sinceMs: 3, kind: "restored" as const, reason: "r" },
      },
    }
    expect(Result.getOrThrow(readLine(settingsLine(record)))).toEqual({ kind: "settings", record })
    const wrong = readLine(settingsLine({ ...record, settings: { ...record.settings, maxPending: -1 } }))
    expect(Result.isFailure(wrong) ? wrong.failure : "").toContain("maxPending")
  })

  test("at the end of an archive says how many there were", () => {
    expect(Result.getOrThrow(readLine(endLine(7)))).toEqual({ kind: "end", items: 7 })
  })

  test("of a timer that no call could reach, or that would never fire, is refused", () => {
    const line = itemLine(pending())
    expect(Result.isSuccess(readLine(line))).toBe(true)
    const why = (change: Readonly<Record<string, unknown>>): string => {
      const read = readLine(JSON.stringify({ ...JSON.parse(line), ...change }))
      return Result.isFailure(read) ? read.failure : ""
    }
    expect(why({ namespace: "a/b" })).toContain("/namespace must be 1 to 100 characters")
    expect(why({ timerId: "a\u001b[2J" })).toContain("/timerId must not contain control characters")
    expect(why({ timerId: "a".repeat(256) })).toContain("/timerId must be text of 1 to 255 bytes")
    expect(why({ fireAt: -1 })).toContain("/fireAt must not be before 1970")
    expect(why({ executeAt: -1 })).toContain("/executeAt must not be before 1970")
  })

  test("that is not valid is reported", () => {
    const whole = JSON.parse(itemLine(pending()))
    const { fireId: _, ...without } = whole
    const wrong: Record<string, string> = {
      "not JSON": "{",
      fireId: JSON.stringify(without),
      more: JSON.stringify({ ...whole, more: 1 }),
      payloadBase64: JSON.stringify({ ...whole, payloadBase64: "*" }),
      attempts: JSON.stringify({ ...whole, attempts: -1 }),
    }
    for (const [what, line] of Object.entries(wrong)) {
      const read = readLine(line)
      expect([what, Result.isFailure(read) ? read.failure : ""]).toEqual([
        what,
        expect.stringContaining(what),
      ])
    }
  })
})

test("a file is recognised by its first line and its version", () => {
  expect(whyNoArchive(headLine)).toBeUndefined()
  for (const line of ["", "{}", "null", '{"kind":"end","items":0}']) {
    expect(whyNoArchive(line)).toContain("not an archive")
  }
  expect(whyNoArchive('{"kind":"punctualArchive","version":2}')).toContain("version 2")
})
