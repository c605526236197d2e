// `punctual cluster`: what operators see of nodes and shards, and what the command says when no node answers.
import { describe, expect, test } from "bun:test"
import { problem, requestsTo, rowsOf, run, serviceThatAnswers } from "../CommandFixture.ts"

const answer = {
  node: "b",
  nodes: [
    { node: "a", address: "http://a:1", isLive: true, isLeaving: true, heartbeatAgeMs: 412, shards: 1 },
    { node: "b", address: "", isLive: true, isLeaving: false, heartbeatAgeMs: 0, shards: 1 },
    { node: "c", address: "http://c:1", isLive: false, isLeaving: false, heartbeatAgeMs: 7_900, shards: 0 },
  ],
  shards: [
    { shard: 0, owner: "a", epoch: 3 },
    { shard: 1, owner: "b", epoch: 12, lagMs: 40 },
    { shard: 2, epoch: 5 },
  ],
  clockOffsetMs: -620,
}

describe("cluster", () => {
  test("shows the nodes, the owner of each shard, and the lag", async () => {
    await using node = await serviceThatAnswers(() => ({ body: answer }))
    const { exitCode, out, err } = await run(["cluster", "--url", node.url])
    expect([exitCode, err]).toEqual([0, ""])
    expect(requestsTo(node)).toEqual([["/cluster", {}]])
    expect(rowsOf(out)).toEqual([
      ["NODE", "ADDRESS", "STATE", "HEARTBEAT", "SHARDS"],
      ["a", "http://a:1", "leaving", "0.4 s ago", "1"],
      ["b (asked)", "-", "live", "0.0 s ago", "1"],
      ["c", "http://c:1", "silent", "7.9 s ago", "0"],
      [""],
      ["SHARD", "OWNER", "EPOCH", "LAG"],
      ["0", "a", "3", "not known"],
      ["1", "b", "12", "40 ms"],
      ["2", "-", "5", "not known"],
      [""],
      [
        "3 nodes, 1 silent. 3 shards, 1 free. Longest overdue 40 ms. The clock of the node asked is 620 ms behind the clock of the database.",
      ],
    ])
  })

  test("prints the node's answer for programs, and finds the node by the environment", async () => {
    await using node = await serviceThatAnswers(() => ({ body: answer }))
    const { exitCode, out } = await run(["cluster", "--json"], { environmentUrl: node.url })
    expect(exitCode).toBe(0)
    expect(JSON.parse(out)).toEqual(answer)
  })

  test("never sends control characters of a node's name to the terminal", async () => {
    const named = { ...answer, nodes: [{ ...answer.nodes[0], node: "\u001b[2Ja" }] }
    await using node = await serviceThatAnswers(() => ({ body: named }))
    const { out } = await run(["cluster", "--url", node.url])
    expect(out).toContain("\\u001b[2Ja")
  })

  test("quotes a node's refusal", async () => {
    await using node = await serviceThatAnswers(() => problem(503, "ownerUnavailable", "It is starting."))
    expect(await run(["cluster", "--url", node.url])).toEqual({
      exitCode: 1,
      out: "",
      err: "punctual cluster: refused (ownerUnavailable): It is starting.\n",
    })
  })
})
