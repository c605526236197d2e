import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { decodeDueTimeReached, dueTimeReachedJson } from "../src/DueTimeReached.ts"
import type { Namespace } from "../src/Namespace.ts"
import type { TimerId } from "../src/TimerId.ts"

const event = {
  tenantId: "billing" as Namespace,
  serviceCallId: 'call "1"' as TimerId,
  reachedAt: Date.UTC(2030, 0, 1),
}

describe("a DueTimeReached", () => {
  test("decodes from its text to the same event", () => {
    expect(decodeDueTimeReached(JSON.parse(dueTimeReachedJson(event, undefined)))).toEqual(
      Result.succeed(event),
    )
    expect(decodeDueTimeReached(JSON.parse(dueTimeReachedJson(event, '{"n":1}')))).toEqual(
      Result.succeed({ ...event, payload: { n: 1 } }),
    )
  })

  test("contains the payload's own text", () => {
    expect(dueTimeReachedJson(event, "[ 1.10, 12345678901234567890 ]")).toEndWith(
      ',"payload":[ 1.10, 12345678901234567890 ]}',
    )
  })

  test("has its time in UTC with milliseconds", () => {
    expect(dueTimeReachedJson(event, undefined)).toContain('"reachedAt":"2030-01-01T00:00:00.000Z"')
  })
})
