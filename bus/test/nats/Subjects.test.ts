import { describe, expect, test } from "bun:test"
import { Namespace } from "@punctual/api/Namespace"
import { Schema } from "effect"
import fc from "fast-check"
import { Subjects } from "../../src/nats/Subjects.ts"
import { unknownTenant } from "../../src/Undeliverable.ts"
import { sampleRouting, takenType } from "../../testkit/BusFixture.ts"

const subjects = new Subjects("svc", sampleRouting)

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
  test("a message goes to its tenant's subject of its topic", () => {
    expect(subjects.ofMessage(takenType, "acme")).toBe("svc.acme.samples")
    expect(subjects.ofMessage("SomethingElse", "acme")).toBe("svc.acme.samples")
    expect(subjects.ofMessage("Elsewhere", "acme")).toBe("svc.acme.samples.others")
    expect(subjects.ofMessage("Unheard", "acme")).toBeUndefined()
    expect(subjects.ofUndeliverable("acme")).toBe("svc.acme.dlq")
    expect(subjects.ofUndeliverable(unknownTenant)).toBe("svc._unknown.dlq")
    expect(subjects.ofTopic("samples")).toBe("svc.*.samples")
  })

  test("a name becomes part of a subject only if it is a sound tenant", () => {
    for (const name of hostile) {
      expect(subjects.ofMessage(takenType, name)).toBeUndefined()
      expect(subjects.ofUndeliverable(name)).toBeUndefined()
    }
    fc.assert(
      fc.property(anyName, (tenant) => {
        const isSound = Schema.is(Namespace)(tenant)
        expect(subjects.ofMessage(takenType, tenant)).toBe(isSound ? `svc.${tenant}.samples` : undefined)
        expect(subjects.ofUndeliverable(tenant) !== undefined).toBe(isSound || tenant === unknownTenant)
      }),
    )
  })

  test("a subject tells the tenant it was made for", () => {
    fc.assert(
      fc.property(soundTenant, (tenant) => {
        expect(subjects.tenantOf(subjects.ofMessage(takenType, tenant) ?? "")).toBe(tenant)
        expect(subjects.tenantOf(subjects.ofUndeliverable(tenant) ?? "")).toBe(tenant)
      }),
    )
    expect(subjects.tenantOf("svc.acme")).toBeUndefined()
    expect(subjects.tenantOf("other.acme.samples")).toBeUndefined()
  })

  test("an undeliverable message returns to its own tenant's subjects only, and never to undeliverable messages", () => {
    expect(subjects.mayReturnTo("acme", "svc.acme.samples")).toBe(true)
    expect(subjects.mayReturnTo("acme", "svc.acme.samples.later")).toBe(true)
    expect(subjects.mayReturnTo("acme", "svc.other.samples")).toBe(false)
    expect(subjects.mayReturnTo("acme", "svc.acme.dlq")).toBe(false)
    expect(subjects.mayReturnTo(unknownTenant, "svc.a?b.samples")).toBe(true)
    for (const subject of ["svc.>", "svc.*.samples", "svc.acme", "", "$JS.API.x", "svc..x", "svc.a b.x"]) {
      expect(subjects.mayReturnTo(unknownTenant, subject)).toBe(false)
      expect(subjects.mayReturnTo("acme", subject)).toBe(false)
    }
    fc.assert(
      fc.property(anyName, anyName, (tenant, subject) => {
        if (subjects.mayReturnTo(tenant, subject)) expect(subject.startsWith("svc.")).toBe(true)
      }),
    )
  })
})
