import { describe, expect, test } from "bun:test"
import { unknownTenant } from "@punctual/api/DeadLetter"
import { Namespace } from "@punctual/api/Namespace"
import { Schema } from "effect"
import fc from "fast-check"
import {
  deadLetterSubject,
  mayReturnTo,
  subjectOf,
  subjectsOf,
  tenantOf,
} from "../../../src/buses/nats/Routing.ts"

const hostile = [
  "*",
  ">",
  "a.b",
  "a b",
  "",
  " ",
  ".",
  "a.",
  "a\r\nb",
  "ä",
  "日本",
  "_x",
  "a*",
  "a>",
  "\u0000",
]

const soundTenant = fc.stringMatching(/^[A-Za-z0-9-][A-Za-z0-9_-]{0,99}$/)
const anyName = fc.oneof(fc.constantFrom(...hostile), fc.string(), fc.string({ unit: "binary" }), soundTenant)

describe("routing", () => {
  test("a command and an event of a tenant go to the tenant's subject", () => {
    expect(subjectOf("ScheduleTimer", "acme")).toBe("svc.acme.serviceCall")
    expect(subjectOf("DueTimeReached", "acme")).toBe("svc.acme.serviceCall")
    expect(subjectOf("SomethingElse", "acme")).toBe("svc.acme.serviceCall")
    expect(deadLetterSubject("acme")).toBe("svc.acme.dlq")
    expect(deadLetterSubject(unknownTenant)).toBe("svc._unknown.dlq")
    expect(subjectsOf("serviceCall")).toBe("svc.*.serviceCall")
  })

  test("a name becomes part of a subject only if it is a sound tenant", () => {
    for (const name of hostile) {
      expect(subjectOf("ScheduleTimer", name)).toBeUndefined()
      expect(deadLetterSubject(name)).toBeUndefined()
    }
    fc.assert(
      fc.property(anyName, anyName, (type, tenant) => {
        const isSound = Schema.is(Namespace)(tenant)
        expect(subjectOf(type, tenant)).toBe(isSound ? `svc.${tenant}.serviceCall` : undefined)
        expect(deadLetterSubject(tenant) !== undefined).toBe(isSound || tenant === unknownTenant)
      }),
    )
  })

  test("a subject tells the tenant it was made for", () => {
    fc.assert(
      fc.property(soundTenant, (tenant) => {
        expect(tenantOf(subjectOf("ScheduleTimer", tenant) ?? "")).toBe(tenant)
        expect(tenantOf(deadLetterSubject(tenant) ?? "")).toBe(tenant)
      }),
    )
    expect(tenantOf("svc.acme")).toBeUndefined()
    expect(tenantOf("other.acme.serviceCall")).toBeUndefined()
  })

  test("a dead letter returns to its own tenant's subjects only, and never to dead letters", () => {
    expect(mayReturnTo("acme", "svc.acme.serviceCall")).toBe(true)
    expect(mayReturnTo("acme", "svc.acme.serviceCall.later")).toBe(true)
    expect(mayReturnTo("acme", "svc.other.serviceCall")).toBe(false)
    expect(mayReturnTo("acme", "svc.acme.dlq")).toBe(false)
    expect(mayReturnTo(unknownTenant, "svc.a?b.serviceCall")).toBe(true)
    for (const subject of [
      "svc.>",
      "svc.*.serviceCall",
      "svc.acme",
      "",
      "$JS.API.x",
      "svc..x",
      "svc.a b.x",
    ]) {
      expect(mayReturnTo(unknownTenant, subject)).toBe(false)
      expect(mayReturnTo("acme", subject)).toBe(false)
    }
    fc.assert(
      fc.property(anyName, anyName, (tenant, subject) => {
        if (mayReturnTo(tenant, subject)) expect(subject.startsWith("svc.")).toBe(true)
      }),
    )
  })
})
