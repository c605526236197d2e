// `punctual cluster`: what operators see of the nodes and shards, and what it says when no node answers.
import { describe, expect, test } from "bun:test"
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { cluster } from "../../src/cli/cluster.ts"

interface Node {
  readonly url: string
  readonly asked: Array<{ readonly method: string; readonly path: string; readonly body: string }>
  [Symbol.asyncDispose](): Promise<void>
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const nodeThatAnswers = async (status: number, text: string): Promise<Node> => {
  const asked: Array<{ method: string; path: string; body: string }> = []
  const server = createServer(async (request, response) => {
    asked.push({ method: request.method ?? "", path: request.url ?? "", body: await bodyOf(request) })
    response.writeHead(status, { "content-type": "application/json" }).end(text)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

const run = async (args: ReadonlyArray<string>, environment: Record<string, string> = {}) => {
  const out: Array<string> = []
  const err: Array<string> = []
  const exitCode = await cluster(args, environment, {
    columns: undefined,
    out: async (text) => void out.push(text),
    err: async (text) => void err.push(text),
    onStop: () => () => {},
  })
  return { exitCode, out: out.join(""), err: err.join("") }
}

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
  test("shows who takes part, who fires what, and how far it lags", async () => {
    await using node = await nodeThatAnswers(200, JSON.stringify(answer))
    const { exitCode, out, err } = await run(["--url", `${node.url}/`])
    expect([exitCode, err]).toEqual([0, ""])
    expect(node.asked).toEqual([{ method: "POST", path: "/api/v1/cluster", body: "{}" }])
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
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
        "3 nodes, 1 silent. 3 shards, 1 free. Greatest lag 40 ms. The clock of the node asked is 620 ms behind the database's.",
      ],
      [""],
    ])
  })

  test("answers programs with what the node said, asked where the environment says", async () => {
    await using node = await nodeThatAnswers(200, JSON.stringify(answer))
    const { exitCode, out } = await run(["--json"], { TIMER_URL: node.url })
    expect(exitCode).toBe(0)
    expect(JSON.parse(out)).toEqual(answer)
  })

  test("never hands a node's name to the terminal as a command", async () => {
    const named = { ...answer, nodes: [{ ...answer.nodes[0], node: "\u001b[2Ja" }] }
    await using node = await nodeThatAnswers(200, JSON.stringify(named))
    const { out } = await run(["--url", node.url])
    expect(out).toContain("\\u001b[2Ja")
  })

  test("says what a node refused, in its own words", async () => {
    await using node = await nodeThatAnswers(503, JSON.stringify({ detail: "The service is starting." }))
    expect(await run(["--url", node.url])).toEqual({
      exitCode: 1,
      out: "",
      err: `punctual cluster: ${node.url} answered 503: The service is starting.\n`,
    })
  })

  test("says that something else answers there", async () => {
    await using node = await nodeThatAnswers(200, "<html>")
    const { exitCode, err } = await run(["--url", node.url])
    expect(exitCode).toBe(1)
    expect(err).toContain("answered with something else")
  })

  test("says that nobody answers there", async () => {
    const node = await nodeThatAnswers(200, "{}")
    await node[Symbol.asyncDispose]()
    const { exitCode, err } = await run(["--url", node.url])
    expect(exitCode).toBe(1)
    expect(err).toContain(`punctual cluster: ${node.url} cannot be reached`)
  })

  test("takes no URL that is none", async () => {
    for (const url of ["10.0.0.1:8080", "ftp://a"]) {
      const { exitCode, err } = await run(["--url", url])
      expect(exitCode).toBe(2)
      expect(err).toContain("http://host:port")
    }
  })
})
