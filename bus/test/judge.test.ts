import { describe, expect, test } from "bun:test"
import { encodeEnvelope } from "../src/Envelope.ts"
import { judge } from "../src/judge.ts"
import { sampleMessage, takenType } from "../testkit/BusFixture.ts"

const types = new Set([takenType])
const judged = (message: string | Uint8Array, addressedTenant?: string) =>
  judge(
    { bytes: typeof message === "string" ? new TextEncoder().encode(message) : message, addressedTenant },
    types,
  )

describe("judge", () => {
  test("an envelope of a type that is taken is fit, for its tenant", () => {
    const message = sampleMessage()
    const expected = { kind: "fit", tenant: "acme", envelope: { id: message.id } }
    expect(judged(encodeEnvelope(message))).toMatchObject(expected)
    expect(judged(encodeEnvelope(message), "acme")).toMatchObject(expected)
  })

  test("a message that is not JSON, not an object, or has no type is malformed", () => {
    for (const [message, error] of [
      ["", "the message must be JSON in UTF-8"],
      ["{", "the message must be JSON in UTF-8"],
      ["null", "the message must be a JSON object"],
      ["[]", "the message must be a JSON object"],
      ["7", "the message must be a JSON object"],
      ["{}", "/type must be text"],
      ['{"type":7}', "/type must be text"],
    ] as const) {
      expect(judged(message)).toEqual({ kind: "unfit", tenant: "_unknown", reason: "malformed", error })
    }
    expect(judged(new Uint8Array([0x22, 0xff, 0x22]))).toMatchObject({ reason: "malformed" })
    // Nested far deeper than the stack allows, if the code looked into payloads.
    expect(judged("[".repeat(1_000_000))).toMatchObject({ reason: "malformed" })
  })

  test("the type is looked at first: messages of others are not judged", () => {
    expect(judged('{"type":"SomethingElse","id":7}')).toEqual({
      kind: "otherType",
      tenant: "_unknown",
      type: "SomethingElse",
    })
    expect(judged('{"type":"SomethingElse","tenantId":"globex"}', "acme")).toMatchObject({
      kind: "otherType",
      tenant: "acme",
    })
  })

  test("an envelope with unsound fields is malformed, and the fields are named", () => {
    const verdict = judged('{"type":"Reminder","tenantId":"acme","id":"7"}')
    expect(verdict).toMatchObject({ kind: "unfit", tenant: "acme", reason: "malformed" })
    expect(verdict).toMatchObject({ error: expect.stringContaining("/id must be a UUID") })
  })

  test("an envelope that was sent to another tenant is refused for the tenant in the address", () => {
    expect(judged(encodeEnvelope(sampleMessage({ tenant: "globex" })), "acme")).toEqual({
      kind: "unfit",
      tenant: "acme",
      reason: "refused",
      error: "the envelope names tenant globex, but was sent to tenant acme",
    })
  })

  test("the address decides the tenant if there is one; an invalid name belongs to no tenant", () => {
    const own = '{"tenantId":"globex"}'
    expect(judged(own, "acme").tenant).toBe("acme")
    expect(judged(own).tenant).toBe("globex")
    expect(judged('{"tenantId":"a b"}').tenant).toBe("_unknown")
    expect(judged('{"tenantId":["acme"]}').tenant).toBe("_unknown")
    for (const unsound of ["", "_unknown", "_system", "a.b", "*", "ü", "x".repeat(101)]) {
      expect(judged(own, unsound).tenant).toBe("_unknown")
      // A valid envelope at such an address does not reach the undeliverable messages of the tenant it names either.
      expect(judged(encodeEnvelope(sampleMessage()), unsound)).toMatchObject({
        reason: "refused",
        tenant: "_unknown",
      })
    }
  })
})
