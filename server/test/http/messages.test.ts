// The calls about undeliverable messages over HTTP, on a real bus, checked by their own schemas.
import { describe, expect, test } from "bun:test"
import { Namespace } from "@punctual/api/Namespace"
import { AggregateId } from "@punctual/bus/AggregateId"
import { Bus, BusError, MessageRefused } from "@punctual/bus/Bus"
import { MessageType } from "@punctual/bus/Envelope"
import { EnvelopeId } from "@punctual/bus/EnvelopeId"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Effect, Logger } from "effect"
import { timerRouting, timerTopics } from "../../src/messaging/timerRouting.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const topics = timerTopics("shared")
const payloadJson = `{ "n":12345678901234567890, "text":"größer", "more":"${"x".repeat(200)}" }`

interface Rig {
  readonly post: RunningService["post"]
  /** From now on the handler accepts messages. At first it refuses them. */
  accept(): void
  readonly handled: ReadonlyArray<string>
}

/** A service beside a bus with undeliverable messages: one of each namespace, in this order. */
const withMessages = (
  namespaces: ReadonlyArray<string>,
  use: (rig: Rig) => Promise<void>,
  change: (kept: UndeliverableMessages["Service"]) => UndeliverableMessages["Service"] = (kept) => kept,
): Promise<void> =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const kept = yield* UndeliverableMessages
    const handled: Array<string> = []
    let isAccepting = false
    yield* bus.subscribe({
      group: "punctual",
      topic: topics.commands,
      types: new Set(["ScheduleTimer"]),
      handle: ({ envelope }) =>
        isAccepting
          ? Effect.sync(() => handled.push(envelope.aggregateId))
          : Effect.fail(new MessageRefused({ message: "no such plan" })),
      observe: () => {},
    })
    for (const [index, namespace] of namespaces.entries()) {
      yield* bus.publish([
        {
          id: EnvelopeId.make(`01890a5d-ac96-774b-bcce-${String(index).padStart(12, "0")}`),
          type: MessageType.make("ScheduleTimer"),
          tenantId: Namespace.make(namespace),
          aggregateId: AggregateId.make(`call-${index + 1}`),
          timestampMs: 1,
          payloadJson,
        },
      ])
    }
    const accept = () => {
      isAccepting = true
    }
    yield* Effect.promise(() =>
      withService({ messages: change(kept) }, ({ post }) => use({ post, accept, handled })),
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(LocalBus.layer(timerRouting(topics))),
    Effect.provide(Logger.layer([])),
    Effect.runPromise,
  )

const both = ["billing", "orders", "billing"]

describe("messages/list", () => {
  test("lists those of all namespaces, or of one, oldest first, page by page, with shortened bodies", () =>
    withMessages(both, async ({ post }) => {
      const first = await post("messages/list", { limit: 2 })
      expect(first.status).toBe(200)
      expect(first.json.messages.map(({ namespace, id }: Named) => [namespace, id])).toEqual([
        ["billing", "1"],
        ["orders", "2"],
      ])
      const second = await post("messages/list", { limit: 2, cursor: first.json.nextCursor })
      expect(second.json.messages).toEqual([
        {
          id: "3",
          namespace: "billing",
          storedAt: expect.any(String),
          reason: "refused",
          group: "punctual",
          deliveries: 1,
          firstFailure: { at: expect.any(String), error: "no such plan" },
          lastFailure: { at: expect.any(String), error: "no such plan" },
          type: "ScheduleTimer",
          aggregateId: "call-3",
          messageId: expect.any(String),
          messageBytes: expect.any(Number),
          preview: expect.stringMatching(/^\{"id":/),
        },
      ])
      expect(second.json.messages[0].preview.length).toBe(200)
      expect(second.json.nextCursor).toBeUndefined()
      const ofOne = await post("messages/list", { namespace: "orders" })
      expect(ofOne.json.messages.map(({ id }: Named) => id)).toEqual(["2"])
      expect((await post("messages/list", { namespace: "_unknown" })).json).toEqual({ messages: [] })
    }))

  test("refuses a request that it does not understand, and names the field", () =>
    withMessages([], async ({ post }) => {
      for (const [body, pointer] of [
        [{ limit: 0 }, "/limit"],
        [{ limit: 1_001 }, "/limit"],
        [{ namespace: "_internal" }, "/namespace"],
        [{ cursor: "not one of ours" }, "/cursor"],
        [{ tenant: "orders" }, "/tenant"],
      ] as const) {
        const refused = await post("messages/list", body)
        expect([refused.status, refused.json.code]).toEqual([400, "invalidRequest"])
        expect(refused.json.errors[0].pointer).toBe(pointer)
      }
    }))
})

interface Named {
  readonly namespace: string
  readonly id: string
}

describe("messages/get", () => {
  test("has the message unchanged", () =>
    withMessages(both, async ({ post }) => {
      const { json, text } = await post("messages/get", { namespace: "orders", id: "2" })
      expect(json.message).toMatchObject({
        id: "2",
        namespace: "orders",
        envelope: { aggregateId: "call-2" },
      })
      expect(text).toContain(`"payload":${payloadJson}`)
    }))

  test("finds nothing under the name of another namespace", () =>
    withMessages(both, async ({ post }) => {
      for (const name of ["get", "replay", "discard"] as const) {
        const missing = await post(`messages/${name}`, { namespace: "billing", id: "2" })
        expect([missing.status, missing.json.code]).toEqual([404, "messageNotFound"])
      }
    }))
})

describe("messages/replay and messages/discard", () => {
  test("hand a message to its group again, or remove it", () =>
    withMessages(both, async ({ post, accept, handled }) => {
      accept()
      expect((await post("messages/replay", { namespace: "orders", id: "2" })).json).toEqual({
        result: "replayed",
      })
      expect((await post("messages/discard", { namespace: "billing", id: "1" })).json).toEqual({
        result: "discarded",
      })
      const left = await post("messages/list", {})
      expect(left.json.messages.map(({ id }: Named) => id)).toEqual(["3"])
      expect(handled).toEqual(["call-2"])
    }))

  test("an impossible request is a conflict, and an unreachable broker is a reason to retry later", () => {
    const failing = (isPermanent: boolean) =>
      Effect.fail(new BusError({ message: "it was too large", isPermanent }))
    return withMessages(
      both,
      async ({ post }) => {
        const never = await post("messages/replay", { namespace: "billing", id: "1" })
        expect([never.status, never.json.code, never.json.detail]).toEqual([
          409,
          "messageRefused",
          "it was too large",
        ])
        const away = await post("messages/discard", { namespace: "billing", id: "1" })
        expect([away.status, away.json.code, away.json.written]).toEqual([
          503,
          "brokerUnavailable",
          "unknown",
        ])
        expect(away.headers.get("retry-after")).toBe("5")
        for (const [path, fields] of [
          ["messages/get", { id: "1" }],
          ["messages/list", {}],
        ] as const) {
          const unread = await post(path, { namespace: "billing", ...fields })
          expect([unread.status, unread.json.code, unread.json.written]).toEqual([
            503,
            "brokerUnavailable",
            "no",
          ])
        }
      },
      (kept) => ({
        ...kept,
        replay: () => failing(true),
        discard: () => failing(false),
        find: () => failing(false),
        list: () => failing(false),
      }),
    )
  })
})
