// Every outcome of a call, with a real server on loopback.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createServer, type Server } from "node:net"
import { brotliCompressSync } from "node:zlib"
import { openEgress, parseEgress } from "@punctual/egress/Egress"
import { Effect, Result } from "effect"
import { FetchCaller } from "../../src/callers/fetch/FetchCaller.ts"
import { ServiceCaller, snippetBytesMax } from "../../src/ports/ServiceCaller.ts"

let requests: Array<{ readonly path: string; readonly key: string | null; readonly body: string }> = []
let target: Bun.Server<undefined>
let silent: Server

beforeAll(async () => {
  target = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const path = new URL(request.url).pathname
      requests.push({ path, key: request.headers.get("idempotency-key"), body: await request.text() })
      if (path === "/redirect") return new Response("", { status: 302, headers: { location: "/ok" } })
      if (path === "/bomb")
        return new Response(brotliCompressSync(Buffer.alloc(50_000_000)), {
          headers: { "content-encoding": "br" },
        })
      if (path === "/large") return new Response("é".repeat(snippetBytesMax))
      return new Response("done", { status: path === "/fail" ? 503 : 201 })
    },
  })
  silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve))
})

afterAll(async () => {
  await target.stop(true)
  silent.close()
})

const call = (url: string, { timeoutMs = 30_000, egress = openEgress } = {}) => {
  requests = []
  return Effect.runPromise(
    Effect.flatMap(ServiceCaller, (caller) =>
      caller.call({
        tenantId: "acme",
        attemptId: "attempt-1",
        timeoutMs,
        request: { method: "POST", url, headers: { a: "1" }, body: "größer" },
      }),
    ).pipe(Effect.provide(FetchCaller.layer({ egress }))),
  )
}

const at = (path: string) => `http://127.0.0.1:${target.port}${path}`
const kindOf = (answer: Awaited<ReturnType<typeof call>>) =>
  answer.kind === "failed" ? answer.error.kind : answer.kind

describe("a call", () => {
  test("succeeds with 2xx, and carries the id of its attempt and the body as it is", async () => {
    const answer = await call(at("/ok"))
    expect(answer).toMatchObject({ kind: "succeeded", response: { status: 201, bodySnippet: "done" } })
    expect(requests).toEqual([{ path: "/ok", key: "attempt-1", body: "größer" }])
  })

  test("fails with any other status, and keeps the answer", async () => {
    expect(await call(at("/fail"))).toMatchObject({
      error: { kind: "status", response: { status: 503, bodySnippet: "done" } },
    })
  })

  test("does not follow a redirect", async () => {
    expect(await call(at("/redirect"))).toMatchObject({
      error: { kind: "status", response: { status: 302 } },
    })
    expect(requests).toHaveLength(1)
  })

  test("does not decompress an answer, which may be a million times as large", async () => {
    const answer = await call(at("/bomb"))
    if (!("response" in answer)) throw new Error("no answer")
    expect(answer.response.isCut).toBeUndefined()
    expect(answer.response.bodySnippet.length).toBeLessThan(1_000)
  })

  test("reads the beginning of a long answer, and cuts no character", async () => {
    const answer = await call(at("/large"))
    if (answer.kind !== "succeeded") throw new Error("failed")
    expect(answer.response.isCut).toBe(true)
    expect(answer.response.bodySnippet).toBe("é".repeat(snippetBytesMax / 2))
  })

  test("times out", async () => {
    const { port } = silent.address() as { port: number }
    expect(kindOf(await call(`http://127.0.0.1:${port}/`, { timeoutMs: 50 }))).toBe("timeout")
  })

  test("fails if the network does, and the message does not show the query", async () => {
    const free = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() })
    const { port } = free
    await free.stop(true)
    const answer = await call(`http://127.0.0.1:${port}/?token=secret`)
    expect(kindOf(answer)).toBe("network")
    expect(JSON.stringify(answer)).not.toContain("secret")
  })

  test("is refused by the egress rules before anything is sent", async () => {
    const egress = Result.getOrThrow(parseEgress("public"))
    expect(await call(at("/ok"), { egress })).toMatchObject({ error: { kind: "egressRefused" } })
    expect(requests).toEqual([])
    const why = await Effect.runPromise(
      Effect.map(ServiceCaller, (caller) => caller.whyRefused(at("/ok"))).pipe(
        Effect.provide(FetchCaller.layer({ egress })),
      ),
    )
    expect(why).toContain("AGENT_EGRESS")
  })
})
