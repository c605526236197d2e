// `punctual webhooks test`: real requests to a receiver of the test, sent by a real service or by the command itself.
import { describe, expect, test } from "bun:test"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { parseEgress } from "@punctual/egress/Egress"
import { Effect, Result } from "effect"
import { verifySignature } from "../../../src/cli/listen/verifySignature.ts"
import { sentByService } from "../../../src/cli/webhooks/sentByService.ts"
import { makeWebhookDeliverer } from "../../../src/deliverers/webhook/WebhookDeliverer.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { withService } from "../../http/ServiceFixture.ts"
import { run, withoutKey } from "../CommandFixture.ts"

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const key = secretBytes(secret) ?? new Uint8Array()

interface Reply {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: string
  /** The receiver never ends the body. */
  readonly isEndless?: boolean
}

const receiver = async (reply: Reply) => {
  const requests: Array<{ readonly headers: IncomingHttpHeaders; readonly body: string }> = []
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk
    })
    request.on("end", () => {
      requests.push({ headers: request.headers, body })
      response.writeHead(reply.status, reply.headers)
      if (reply.isEndless === true) response.write(reply.body ?? "")
      else response.end(reply.body)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

const json = { "content-type": "application/json" }

/** Answers of receivers, and how Punctual judges them. */
const replies: ReadonlyArray<readonly [Reply, { readonly verdict: string; readonly exitCode: number }]> = [
  [{ status: 204 }, { verdict: "delivered", exitCode: 0 }],
  [
    { status: 200, headers: json, body: '{"ok":true,"nextDelay":"1h"}' },
    { verdict: "armedAgain", exitCode: 0 },
  ],
  [
    { status: 200, headers: json, body: '{"ok":false}' },
    { verdict: "retry", exitCode: 1 },
  ],
  [
    { status: 503, headers: { "retry-after": "120" } },
    { verdict: "retry", exitCode: 1 },
  ],
  [
    { status: 302, headers: { location: "http://127.0.0.1:9/" } },
    { verdict: "retry", exitCode: 1 },
  ],
  [
    { status: 200, headers: json, body: '{"ok":false,"nextDelay":"1h"}' },
    { verdict: "retry", exitCode: 1 },
  ],
  [{ status: 410 }, { verdict: "dead", exitCode: 1 }],
  // The body does not decide in these cases, so its end does not matter.
  [
    { status: 200, headers: { "content-type": "text/plain" }, body: "thanks", isEndless: true },
    { verdict: "delivered", exitCode: 0 },
  ],
  [
    { status: 410, body: "gone", isEndless: true },
    { verdict: "dead", exitCode: 1 },
  ],
]

describe("sent by the command", () => {
  test("it shows what the receiver gets, signed as a receiver checks it", async () => {
    await using target = await receiver({ status: 200, body: "thanks" })
    const { exitCode, out } = await run([
      "webhooks",
      "test",
      target.url,
      "--secret",
      secret,
      "--payload",
      '{"n":1.0}',
    ])
    expect(exitCode).toBe(0)
    const [got] = target.requests
    if (got === undefined) throw new Error("nothing came")
    expect(verifySignature(got.headers, Buffer.from(got.body), [key], Date.now())).toBe("ok")
    expect(got.body).toContain('"payload":{"n":1.0}')
    for (const name of [
      "webhook-id",
      "webhook-timestamp",
      "webhook-signature",
      "traceparent",
      "punctual-attempt",
    ]) {
      expect(out).toContain(`  ${name}: ${got.headers[name]}`)
    }
    expect(out).toContain('"type": "timer.fired"')
    expect(out).toMatch(/answered:\nthanks\n/)
    expect(out).toMatch(/^status {9}200$/m)
    expect(out).toMatch(/^judged {9}delivered: /m)
    expect(out).not.toContain(secret)
  })

  test("it judges answers as the service does", async () => {
    for (const [reply, { verdict, exitCode }] of replies) {
      await using target = await receiver(reply)
      const ended = await run(["webhooks", "test", target.url, "--secret-file", "-", "--json"], {
        stdin: secret,
      })
      const told = JSON.parse(ended.out)
      expect([reply, told.verdict, told.status, ended.exitCode]).toEqual([
        reply,
        verdict,
        reply.status,
        exitCode,
      ])
      if (reply.body !== undefined) expect([reply, told.answer]).toEqual([reply, reply.body])
    }
  })

  test("it shows only the beginning of a long answer", async () => {
    await using target = await receiver({ status: 200, body: "x".repeat(100_000), isEndless: true })
    const { out } = await run(["webhooks", "test", target.url, "--secret", secret, "--json"])
    expect(JSON.parse(out).answer).toBe(`${"x".repeat(1_000)}…`)
  })

  test("it says that the connection is refused, in the words of the service", async () => {
    const ended = await run(["webhooks", "test", "http://127.0.0.1:9/hook", "--secret", secret])
    expect([ended.exitCode, ended.err]).toEqual([
      1,
      expect.stringContaining("connection refused: 127.0.0.1:9"),
    ])
  })
})

describe("sent by the service", () => {
  const rules = (text: string) => {
    const parsed = parseEgress(text)
    if (Result.isFailure(parsed)) throw new Error(parsed.failure.message)
    return parsed.success
  }
  const deliverBy = (egress: string) =>
    makeWebhookDeliverer({
      egress: rules(egress),
      secretsOf: (namespace) => (namespace === "signed" ? [key] : []),
    }).deliver

  test("it is a real delivery, judged by its answer, and leaves nothing behind", () =>
    withService({ deliver: deliverBy("open") }, async (service) => {
      for (const [reply, { verdict, exitCode }] of replies) {
        await using target = await receiver(reply)
        const ended = await run([
          "webhooks",
          "test",
          target.url,
          "--namespace",
          "signed",
          "--json",
          "--url",
          service.url,
        ])
        expect([reply, JSON.parse(ended.out).verdict, ended.exitCode, target.requests.length]).toEqual([
          reply,
          verdict,
          exitCode,
          1,
        ])
        const [got] = target.requests
        if (got === undefined) throw new Error("nothing came")
        expect(verifySignature(got.headers, Buffer.from(got.body), [key], Date.now())).toBe("ok")
        expect(await service.pendingIn("signed")).toBe(0)
        const dead = await service.call("count", { namespace: "signed", state: "dead" })
        expect(dead.json.count).toBe(0)
      }
    }))

  test("it says whether the service calls onDead of the namespace", () =>
    withService({ deliver: deliverBy("open") }, async (service) => {
      await using onDead = await receiver({ status: 204 })
      await service.post("namespaces/put", {
        namespace: "told",
        onDead: { type: "webhook", url: onDead.url },
      })
      const testing = async (reply: Reply) => {
        await using target = await receiver(reply)
        return await run(["webhooks", "test", target.url, "--namespace", "told", "--url", service.url])
      }
      expect((await testing({ status: 204 })).out).toMatch(/^onDead {9}not called: .*did not die/m)
      expect(onDead.requests).toEqual([])
      expect((await testing({ status: 410 })).out).toMatch(/^onDead {9}called: .*onDead target of told/m)
      const [call] = await eventually("onDead is called", () =>
        onDead.requests.length > 0 ? onDead.requests : undefined,
      )
      expect(JSON.parse(call?.body ?? "")).toMatchObject({ type: "timer.dead" })
    }))

  test("its timer ends without a dead letter if its first attempt cannot start", () =>
    withService({ deliver: deliverBy("open") }, async (service) => {
      await using target = await receiver({ status: 204 })
      const ended = await run(["webhooks", "test", target.url, "--namespace", "plain", "--url", service.url])
      expect([ended.exitCode, ended.out.includes("onDead")]).toEqual([0, false])
      const { json: listed } = await service.call("list", { namespace: "plain", state: "delivered" })
      expect(listed.timers).toMatchObject([{ expireAfter: "1m", onExpire: "drop" }])
    }))

  test("it says why the timer waits if there was no attempt", () =>
    withService({ deliver: deliverBy("open") }, async (service) => {
      await service.post("namespaces/put", { namespace: "still", paused: true })
      const outcome = await Effect.runPromise(
        sentByService({
          ...{
            service: withoutKey(service.url),
            namespace: "still",
            url: "http://127.0.0.1:9/",
            payload: "1",
          },
          ...{ timerId: "t", withinMs: 0 },
        }),
      )
      expect(outcome).toMatchObject({ verdict: "notSent", detail: "The namespace still is paused." })
      expect(await service.pendingIn("still")).toBe(0)
    }))

  test("it shows the egress rules, and that a namespace has no secret", () =>
    withService({ deliver: deliverBy("public") }, async (service) => {
      await using target = await receiver({ status: 204 })
      // The service of this test accepts every URL, so the rules apply when the timer fires.
      const ended = await run(["webhooks", "test", target.url, "--namespace", "plain", "--url", service.url])
      expect([ended.exitCode, target.requests]).toEqual([1, []])
      expect(ended.out).toMatch(/^signed {9}no: plain has no secret$/m)
      expect(ended.out).toMatch(/^judged {9}not sent: the receiver got no request$/m)
      expect(ended.err).toBe(
        `punctual webhooks test: not sent: TIMER_EGRESS does not allow 127.0.0.1. See punctual egress check ${target.url}.\n`,
      )
      expect(await service.pendingIn("plain")).toBe(0)
    }))
})

test("a call that does not say who sends it, or is wrong, sends nothing", async () => {
  for (const args of [
    ["http://127.0.0.1:9/"],
    ["http://127.0.0.1:9/", "--namespace", "a", "--secret", secret],
    ["http://127.0.0.1:9/", "--secret", "whsec_hunter2"],
    ["ftp://127.0.0.1:9/", "--secret", secret],
  ]) {
    const { exitCode, err } = await run(["webhooks", "test", ...args])
    expect([args, exitCode, err.includes("hunter2")]).toEqual([args, 2, false])
  }
})
