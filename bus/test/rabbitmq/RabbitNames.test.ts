import { describe, expect, test } from "bun:test"
import { RabbitNames, routingKeyOf, tenantOfRoutingKey } from "../../src/rabbitmq/RabbitNames.ts"

const names = new RabbitNames("svc")

describe("routing keys", () => {
  test("are the tenant and the id, and the tenant can be read from them", () => {
    expect(routingKeyOf("acme", "call.1 *#é")).toBe("acme.call.1 *#é")
    expect(tenantOfRoutingKey("acme.call.1")).toBe("acme")
    expect(tenantOfRoutingKey("acme")).toBe("acme")
  })

  test("exist only for valid tenants", () => {
    for (const tenant of ["", "a.b", "*", "#", "_x", "a b"]) expect(routingKeyOf(tenant, "x")).toBeUndefined()
  })

  test("are cut to what the protocol allows, between two characters", () => {
    const tenant = "t".repeat(100)
    for (const id of ["x".repeat(255), "é".repeat(127), "✓".repeat(85), `a${"😀".repeat(63)}`]) {
      const key = routingKeyOf(tenant, id) ?? ""
      expect(Buffer.byteLength(key)).toBeLessThanOrEqual(255)
      expect(Buffer.byteLength(key)).toBeGreaterThan(251)
      expect(`${tenant}.${id}`.startsWith(key)).toBe(true)
    }
  })
})

describe("names", () => {
  test("of a group's parts cannot be those of a topic, a tenant or the undeliverable messages", () => {
    const ofGroup = [
      names.groupExchange("punctual"),
      names.numberedQueue("punctual", 0),
      names.tenantQueue("punctual", "dlq"),
      names.partOf("punctual", "members"),
    ]
    const others = [names.topicExchange("serviceCall"), names.undeliverable]
    for (const name of ofGroup) {
      expect(others).not.toContain(name)
      expect(names.groupOfQueue(name)).toBe("punctual")
    }
    expect(names.groupOfQueue("other:punctual:0")).toBeUndefined()
  })

  test("of undeliverable messages exist for valid tenants and for messages without one", () => {
    expect(names.undeliverableKey("acme")).toBe("svc.acme.dlq")
    expect(names.undeliverableKey("_unknown")).toBe("svc._unknown.dlq")
    for (const tenant of ["*", "a.b", "_other"]) expect(names.undeliverableKey(tenant)).toBeUndefined()
    expect(names.tenantOfUndeliverableKey("svc.acme.dlq")).toBe("acme")
    for (const key of ["acme", "svc.acme", "svc.acme.dlq.x", "other.acme.dlq"]) {
      expect(names.tenantOfUndeliverableKey(key)).toBeUndefined()
    }
  })
})
