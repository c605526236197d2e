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

describe("a request about the service", () => {
  test("is empty, if it has no fields", () => {
    for (const schema of [GetService, ListBreakers]) {
      expect(refusalsOf(schema, {})).toEqual([])
      expect(refusalsOf(schema, null)).toHaveLength(1)
    }
  })

  test("can be a pause, with a reason of up to 500 visible characters or none", () => {
    for (const body of [{}, { reason: "x" }, { reason: "x".repeat(500) }])
      expect(refusalsOf(PauseService, body)).toEqual([])
    for (const reason of ["", " ", "x\u200b", "x".repeat(501), null, 7])
      expect(pointersOf(PauseService, { reason })).toEqual(["/reason"])
  })

  test("can be a resume, and fires overdue timers only with an explicit field", () => {
    for (const body of [{}, { fireOverdue: true }]) expect(refusalsOf(ResumeService, body)).toEqual([])
    for (const fireOverdue of [false, null, "true"])
      expect(pointersOf(ResumeService, { fireOverdue })).toEqual(["/fireOverdue"])
  })

  test("can close the breakers of a named host", () => {
    expect(refusalsOf(ResetBreakers, { host: "h:80" })).toEqual([])
    for (const body of [{}, { host: "" }, { host: "x".repeat(301) }])
      expect(pointersOf(ResetBreakers, body)).toEqual(["/host"])
  })
})

describe("an answer about the service", () => {
  test("has its time, and its pause if there is one", () => {
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

  test("about breakers names their node", () => {
    const codec = Schema.toCodecJson(ListBreakersAnswer)
    const breaker = { host: "h:80", namespace: "shop", failures: 10, waiting: 3, probeInMs: 1_000 }
    const answer = { node: "n", breakers: [breaker], more: true }
    expect(Schema.encodeUnknownSync(codec)(Schema.decodeUnknownSync(codec)(answer))).toEqual(answer as never)
    expect(() => Schema.decodeUnknownSync(codec)({ breakers: [] })).toThrow()
  })
})
