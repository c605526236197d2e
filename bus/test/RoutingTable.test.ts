import { expect, test } from "bun:test"
import { RoutingTable } from "../src/RoutingTable.ts"

test("a routing table names the topic of each type, and of no other", () => {
  const table = new RoutingTable({ OrderPlaced: "orders", OrderPaid: "orders.events" })
  expect(["OrderPlaced", "OrderPaid", "toString"].map((type) => table.topicOf(type))).toEqual([
    "orders",
    "orders.events",
    undefined,
  ])
})

test("a type needs a subscriber unless the table says otherwise", () => {
  const table = new RoutingTable({ PlaceOrder: "orders", OrderPlaced: "orders" }, ["OrderPlaced"])
  expect(["PlaceOrder", "OrderPlaced"].map((type) => table.needsSubscriber(type))).toEqual([true, false])
})

test("a topic that would mean something else in an address is refused", () => {
  for (const topic of [
    "",
    "*",
    "a.>",
    "a b",
    "a..b",
    ".a",
    "a.",
    "dlq",
    "dlq.a",
    "x".repeat(65),
    "a.b.c.d.e",
  ]) {
    expect(() => new RoutingTable({ OrderPlaced: topic })).toThrow("cannot be a topic")
  }
})
