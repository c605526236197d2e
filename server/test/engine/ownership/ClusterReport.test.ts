// The texts for the log that depend on how many nodes or shards there are.
import { expect, test } from "bun:test"
import { takenOverText, waitingText } from "../../../src/engine/ownership/ClusterReport.ts"

test("a node that waits says which nodes it waits for", () => {
  expect(waitingText(["node-2", "node-3"], true)).toBe(
    "waiting: node-2, node-3 still hold shards that are assigned to this process",
  )
  expect(waitingText(["node-2"], true)).toBe(
    "waiting: node-2 still holds shards that are assigned to this process",
  )
  expect(waitingText(["a", "b"], false)).toBe(
    "waiting: a, b hold the store; this process takes over when they are gone",
  )
  expect(waitingText(["a"], false)).toBe(
    "waiting: a holds the store; this process takes over when it is gone",
  )
})

test("a node that takes over says how many shards", () => {
  expect(takenOverText("node-2", 1)).toEndWith("taken over a shard of it")
  expect(takenOverText("node-2", 3)).toEndWith("taken over 3 shards of it")
})
