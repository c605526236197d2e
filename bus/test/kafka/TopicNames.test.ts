import { expect, test } from "bun:test"
import { recordKeyOf, TopicNames } from "../../src/kafka/TopicNames.ts"
import { RoutingTable } from "../../src/RoutingTable.ts"

const routing = new RoutingTable({ ScheduleTimer: "serviceCall", TimerFired: "serviceCall.events" })
const names = new TopicNames("service.events", routing, "serviceCall")

test("all messages share the topic of the settings, or have topics below it", () => {
  expect(names.ofType("ScheduleTimer")).toBe("service.events")
  expect(names.ofType("TimerFired")).toBe("service.events.events")
  expect(names.ofType("Unknown")).toBeUndefined()
  expect(names.ofRetries("serviceCall", "punctual")).toBe("service.events.punctual.retry")
})

test("a tenant has a topic of its own for undeliverable messages, and only a valid tenant does", () => {
  expect(names.ofUndeliverable("acme")).toBe("service.events.acme.dlq")
  expect(names.ofUndeliverable("_unknown")).toBe("service.events._unknown.dlq")
  for (const name of ["", "a.b", "a b", "../x"]) expect(names.ofUndeliverable(name)).toBeUndefined()
})

test("the tenant of such a topic is found again, and no other topic has one", () => {
  expect(names.tenantOf("service.events.acme.dlq")).toBe("acme")
  for (const name of [
    "service.events",
    "service.events.a.b.dlq",
    "service.events.acme.retry",
    "other.acme.dlq",
  ]) {
    expect(names.tenantOf(name)).toBeUndefined()
  }
})

test("the key of a record is the tenant and the id of the service call", () => {
  expect(recordKeyOf("acme", "call-1")).toBe("acme.call-1")
})
