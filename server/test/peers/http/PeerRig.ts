// Two nodes that call each other over real loopback connections: this one, and the far one, whose parts a test controls.

import { listen } from "@punctual/http/listener/Listener"
import { Effect, type Scope } from "effect"
import type { FiringStatus } from "../../../src/domain/Waiting.ts"
import { EventFeed } from "../../../src/engine/events/EventFeed.ts"
import { CallSignature, hashInSlices } from "../../../src/peers/http/CallSignature.ts"
import { HttpPeers, type HttpPeersOptions } from "../../../src/peers/http/HttpPeers.ts"
import { makePeerRoutes, type PeerRoutesOptions } from "../../../src/peers/http/peerRoutes.ts"
import {
  type AskedTimer,
  type CarriedAnswer,
  type CarriedItem,
  type PeerError,
  type PeerNode,
  Peers,
} from "../../../src/ports/Peers.ts"
import { sampleTimer } from "../../../testkit/timers.ts"
import { makeUnsignedPeerRoutes } from "../../../testkit/unsigned/unsignedPeerRoutes.ts"

export const secret = "among ourselves"

export interface Far {
  readonly url: string
  /** The node as other nodes know it. */
  readonly peer: PeerNode
  /** The items of each write call that it got. */
  readonly taken: Array<ReadonlyArray<CarriedItem>>
  /** The timers whose status it was asked for. */
  readonly askedAbout: Array<AskedTimer>
  nudges: number
  answer: (items: ReadonlyArray<CarriedItem>) => Effect.Effect<ReadonlyArray<CarriedAnswer>>
}

/** Names may contain characters that a header cannot. */
export const farName = "fär 1"
export const peerAt = (address: string): PeerNode => ({ node: farName, address })

const created = (item: CarriedItem): CarriedAnswer =>
  "timer" in item
    ? { kind: "answered", answer: { result: "created", timer: item.timer } }
    : { kind: "answered", answer: { result: "notFound" } }

const { namespace, uuid, updatedAt } = sampleTimer()
export const asked: AskedTimer = {
  ...{ namespace, uuid, fireId: "a", fireAt: 5, updatedAt },
  ...{ targetType: "webhook", host: "hö.example:8443" },
}

export const waits: FiringStatus = {
  waiting: { reason: "breaker", sinceMs: 12, detail: "hö.example failed." },
}

export interface FarOptions extends Partial<PeerRoutesOptions> {
  /** The other node runs the release before calls were signed. */
  readonly isUnsigned?: boolean
}

/** The other node. */
export const startFar = ({
  isUnsigned = false,
  ...options
}: FarOptions = {}): Effect.Effect<Far, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const far = {
      taken: [] as Far["taken"],
      askedAbout: [] as Far["askedAbout"],
      nudges: 0,
      answer: (items: ReadonlyArray<CarriedItem>) => Effect.succeed(items.map(created)),
    }
    const make = isUnsigned ? makeUnsignedPeerRoutes : makePeerRoutes
    const handle = yield* make({
      node: farName,
      scheduler: {
        accept: (items) =>
          Effect.suspend(() => {
            far.taken.push(items)
            return far.answer(items)
          }),
        firingHere: (timers) => {
          far.askedAbout.push(...timers)
          return timers.map(({ fireId }) => {
            if (fireId === "waits") return waits
            return fireId === "running" ? { inFlightSinceMs: 7 } : {}
          })
        },
        countsHere: ({ names = [], buckets }) =>
          Effect.succeed(
            names.includes("nothing")
              ? undefined
              : { counts: Array<number>(buckets).fill(names.length), asOfMs: 5, lacksSome: false },
          ),
      },
      nudge: Effect.sync(() => {
        far.nudges++
      }),
      lags: () => [{ shard: 3, epoch: 7, lagMs: 12 }],
      events: new EventFeed(() => performance.now()),
      activity: () => ({ process: "p", records: [] }),
      secret,
      isSecretAccepted: () => false,
      ...options,
    })
    const { url } = yield* listen({
      namePrefix: "timer",
      host: "127.0.0.1",
      port: 0,
      handle,
      onDefect: () => {},
    })
    return Object.assign(far, { url, peer: peerAt(url) })
  })

export const here = (timeoutMs = 5_000, known = secret, more: Partial<HttpPeersOptions> = {}) =>
  HttpPeers.layer({ secret: known, timeoutMs, ...more })

export const withFar = (
  body: (far: Far, peers: Peers["Service"]) => Effect.Effect<void, unknown, Scope.Scope>,
  options: FarOptions = {},
  layer = here(),
): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      yield* body(yield* startFar(options), yield* Peers)
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

/** Fails the test if the call succeeds. */
export const failure = <A>(call: Effect.Effect<A, PeerError>): Effect.Effect<PeerError> =>
  Effect.orDie(Effect.flip(call))

export interface RawCall {
  readonly path: string
  readonly method?: string
  readonly body?: string
  /** Added after the call is signed. They replace headers of the same name. */
  readonly headers?: Readonly<Record<string, string>>
  /** The part of the head that is signed instead of the real one. */
  readonly call?: string
  readonly to?: string
  readonly version?: string
  readonly secret?: string
  readonly signedAtMs?: number
}

/** A call as another program would make it, correctly signed unless the test says otherwise. */
export const send = (far: Pick<Far, "url">, call: RawCall): Effect.Effect<Response> =>
  Effect.promise(async () => {
    const { body = "{}", method = "POST" } = call
    const headers = { ...(await signedHeaders({ ...call, body, method })), ...call.headers }
    const url = `${far.url}/internal/v1/${call.path}`
    return fetch(url, method === "GET" ? { headers } : { method, headers, body })
  })

export const signedHeaders = async (call: RawCall): Promise<Record<string, string>> => {
  const head = {
    version: call.version ?? "1",
    method: call.method ?? "POST",
    path: `/internal/v1/${call.path}`,
    to: encodeURIComponent(call.to ?? farName),
    call: call.call ?? `test-${++calls} 1 1`,
  }
  const bodyHash = await hashInSlices(Buffer.from(call.body ?? "{}"))
  const signature = new CallSignature(call.secret ?? secret)
  return {
    "punctual-wire": head.version,
    "punctual-to": head.to,
    "punctual-call": head.call,
    "punctual-signature": signature.headerOf(head, { signedAtMs: call.signedAtMs ?? Date.now(), bodyHash }),
  }
}

let calls = 0
