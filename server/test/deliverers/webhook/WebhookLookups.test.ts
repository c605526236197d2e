// A webhook to a host name: the lookup comes first, can fail, and delays the moment of sending.
import { describe, expect, test } from "bun:test"
import { openEgress, parseEgress } from "@punctual/egress/Egress"
import { Resolver } from "@punctual/egress/Resolver"
import { Effect, Result } from "effect"
import { makeWebhookDeliverer } from "../../../src/deliverers/webhook/WebhookDeliverer.ts"
import { errorClassOf } from "../../../src/domain/errorClassOf.ts"
import type { Fire } from "../../../src/ports/Deliverer.ts"
import { sampleFire, sampleWebhook } from "../../../testkit/sampleFire.ts"
import { answerText, rawPeer } from "./peer.ts"

const fireTo = (url: string): Fire => sampleFire(sampleWebhook(url))

describe("the moment of sending", () => {
  test("is after the lookup and before the answer, under open as under other rules", async () => {
    for (const rules of ["open", "127.0.0.1"]) {
      const seen: Array<string> = []
      await using peer = await rawPeer((socket) => {
        seen.push("request")
        socket.write(answerText(200))
      })
      const lookup = Promise.withResolvers<ReadonlyArray<string>>()
      const asked: Array<readonly [string, string]> = []
      const deliverer = makeWebhookDeliverer({
        egress: Result.getOrThrow(parseEgress(rules)),
        resolve: (host, namespace) => {
          asked.push([host, namespace])
          return lookup.promise
        },
      })
      const fire = fireTo(`http://name.example:${peer.port}/`)
      const delivery = Effect.runPromise(deliverer.deliver(fire, () => seen.push("sent")))
      // Another exchange runs completely. In that time the request could have been sent.
      await Effect.runPromise(deliverer.deliver(fireTo(peer.url)))
      expect(seen).toEqual(["request"])
      lookup.resolve(["127.0.0.1"])
      expect(await delivery).toMatchObject({ kind: "delivered" })
      expect(seen).toEqual(["request", "sent", "request"])
      expect(asked).toEqual([["name.example", fire.namespace]])
      expect(peer.requests[1]?.toLowerCase()).toContain(`host: name.example:${peer.port}`)
    }
  })

  test("does not exist if the lookup fails", async () => {
    let sent = 0
    const deliverer = makeWebhookDeliverer({
      egress: openEgress,
      resolve: () => Promise.reject(new Error("no")),
    })
    await Effect.runPromise(deliverer.deliver(fireTo("http://name.example/"), () => sent++))
    expect(sent).toBe(0)
  })
})

test("a name without addresses is not found; a failure of the name servers is a network error", async () => {
  for (const [code, error] of [
    ["DNS_ENOTFOUND", "host not found: name.example:80"],
    ["DNS_ENODATA", "host not found: name.example:80"],
    ["DNS_ECONNREFUSED", "network error DNS_ECONNREFUSED: name.example:80"],
    ["DNS_ETIMEOUT", "no address in time for name.example: the name servers did not answer"],
  ] as const) {
    const resolve = () => Promise.reject(Object.assign(new Error("no"), { code }))
    const deliverer = makeWebhookDeliverer({ egress: openEgress, resolve })
    const delivery = await Effect.runPromise(deliverer.deliver(fireTo("http://name.example/")))
    expect(delivery).toEqual({ kind: "retry", error, isHostFailure: true })
  }
})

test("a name that does not resolve in time is a timeout; the breaker counts it if the lookup had started", async () => {
  for (const [maxPerNamespace, error, isHostFailure] of [
    [2, "no address in time for slow.example: it did not resolve within 5ms", true],
    [
      1,
      "no address in time for slow.example: it did not resolve within 5ms, because other lookups of the namespace are slow",
      false,
    ],
  ] as const) {
    const { resolve } = new Resolver({ lookup: () => new Promise(() => {}), timeoutMs: 5, maxPerNamespace })
    Promise.resolve(resolve("other.example", "billing")).catch(() => {})
    const deliverer = makeWebhookDeliverer({ egress: openEgress, resolve })
    const delivery = await Effect.runPromise(deliverer.deliver(fireTo("http://slow.example/")))
    expect(delivery).toEqual({ kind: "retry", error, isHostFailure })
    expect(errorClassOf({ at: 0, durationMs: 5, error })).toBe("timeout")
  }
})

test("a name with an address that this machine cannot reach is delivered to the next address", async () => {
  await using peer = await rawPeer((socket) => socket.write(answerText(200)))
  // The system refuses connections to these addresses at once and sends nothing: a broadcast address has no route for
  // TCP, and a link-local address needs a scope.
  const resolve = () => ["255.255.255.255", "fe80::1", "127.0.0.1"]
  const deliverer = makeWebhookDeliverer({ egress: openEgress, resolve })
  const delivery = await Effect.runPromise(deliverer.deliver(fireTo(`http://many.example:${peer.port}/`)))
  expect(delivery).toEqual({ kind: "delivered", status: 200 })
  expect(peer.requests.length).toBe(1)
})
