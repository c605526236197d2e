import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import {
  GetService,
  ListBreakers,
  ListBreakersAnswer,
  PauseService,
  ResetBreakers,
  ResumeService,
  ServiceAnswer,
} from "../src/Service.ts"
import { refusalsOf } from "./refusals.ts"

const pointersOf = (schema: Parameters<typeof refusalsOf>[0], body: unknown) =>
  refusalsOf(schema, body).map((refusal) => refusal.split(" ")[0])

describe("what is asked of the service", () => {
  test("is nothing, where nothing is to be said", () => {
    for (const schema of [GetService, ListBreakers]) {
      expect(refusalsOf(schema, {})).toEqual([])
      expect(refusalsOf(schema, null)).toHaveLength(1)
    }
  })

  test("is a pause, with a reason of up to 200 characters or none", () => {
    for (const body of [{}, { reason: "x" }, { reason: "x".repeat(200) }])
      expect(refusalsOf(PauseService, body)).toEqual([])
    for (const reason of ["", "x".repeat(201), null, 7])
      expect(pointersOf(PauseService, { reason })).toEqual(["/reason"])
  })

  test("is to resume, and to fire what is overdue only if that is said in so many words", () => {
    for (const body of [{}, { fireOverdue: true }]) expect(refusalsOf(ResumeService, body)).toEqual([])
    for (const fireOverdue of [false, null, "true"])
      expect(pointersOf(ResumeService, { fireOverdue })).toEqual(["/fireOverdue"])
  })

  test("is to close the breakers of a host that is named", () => {
    expect(refusalsOf(ResetBreakers, { host: "h:80" })).toEqual([])
    for (const body of [{}, { host: "" }, { host: "x".repeat(301) }])
      expect(pointersOf(ResetBreakers, body)).toEqual(["/host"])
  })
})

describe("what the service answers", () => {
  test("is its time, and its pause if there is one", () => {
    const codec = Schema.toCodecJson(ServiceAnswer)
    for (const answer of [
      { now: "2030-01-01T00:00:00.000Z" },
      {
        now: "2030-01-01T00:00:00.000Z",
        pause: { since: "2029-01-01T00:00:00.000Z", kind: "restored", reason: "disk" },
      },
    ])
      expect(Schema.encodeUnknownSync(codec)(Schema.decodeUnknownSync(codec)(answer))).toEqual(
        answer as never,
      )
  })

  test("of breakers names the node that has them", () => {
    const codec = Schema.toCodecJson(ListBreakersAnswer)
    const breaker = { host: "h:80", namespace: "shop", failures: 10, waiting: 3, probeInMs: 1_000 }
    const answer = { node: "n", breakers: [breaker], more: true }
    expect(Schema.encodeUnknownSync(codec)(Schema.decodeUnknownSync(codec)(answer))).toEqual(answer as never)
    expect(() => Schema.decodeUnknownSync(codec)({ breakers: [] })).toThrow()
  })
})
