// Nodes that call each other over TLS.
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { jsonAnswer } from "@punctual/http/HttpAnswer"
import { listen } from "@punctual/http/listener/Listener"
import { Effect } from "effect"
import { HttpPeers } from "../../../src/peers/http/HttpPeers.ts"
import { type PeerError, Peers } from "../../../src/ports/Peers.ts"
import { makeCertificates } from "../../../testkit/Certificates.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"

/** Nudges a node whose certificate is for these names. Returns how many requests it got, and how the call failed. */
const nudged = async (
  names: string,
  hasAuthority: boolean,
): Promise<readonly [number, PeerError | undefined]> => {
  using folder = new TemporaryFolder()
  const { caFile, certFile, keyFile } = makeCertificates(folder.path, names)
  const certificate = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") }
  let requests = 0
  const handle = async () => {
    requests++
    return jsonAnswer("{}")
  }
  const layer = HttpPeers.layer({ secret: "s", timeoutMs: 5_000, ...(hasAuthority ? { caFile } : {}) })
  return await Effect.gen(function* () {
    const peers = yield* Peers
    const { url } = yield* listen({
      namePrefix: "timer",
      host: "127.0.0.1",
      port: 0,
      certificate,
      handle,
      onDefect: () => {},
    })
    const call = peers.nudge({ node: "far", address: url })
    const failed = yield* Effect.matchEffect(call, {
      onFailure: (error) => Effect.succeed(error),
      onSuccess: () => Effect.succeed(undefined),
    })
    return [requests, failed] as const
  }).pipe(Effect.scoped, Effect.provide(layer), Effect.runPromise)
}

test("a node calls another whose certificate its authority signed", async () => {
  expect(await nudged("IP:127.0.0.1", true)).toEqual([1, undefined])
})

test("a node does not call one whose certificate another authority signed, and knows that nothing was sent", async () => {
  const [requests, failed] = await nudged("IP:127.0.0.1", false)
  expect([requests, failed?.isUndelivered]).toEqual([0, true])
})

test("a node does not call one whose certificate is for another name, and knows that nothing was sent", async () => {
  const [requests, failed] = await nudged("IP:127.0.0.9", true)
  expect([requests, failed?.isUndelivered]).toEqual([0, true])
})
