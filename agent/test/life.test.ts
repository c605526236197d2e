// The life of many calls through the whole agent, with a real Timer, real files and real requests over loopback.
import { expect, test } from "bun:test"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect } from "effect"
import type { NewServiceCall, ServiceCalls } from "../src/calls/ServiceCalls.ts"
import { callStates, finalStates, type ServiceCall } from "../src/domain/ServiceCall.ts"
import { inRig, untilCall as until } from "../testkit/AgentRig.ts"
import { brokenPromises, type EndedCall, type SubmittedCall } from "../testkit/CallChecker.ts"
import { startTarget } from "../testkit/startTarget.ts"

type Calls = ServiceCalls["Service"]

const withRig = async (body: (calls: Calls) => Effect.Effect<void, unknown>): Promise<void> => {
  using folder = new TemporaryFolder()
  await inRig({ folder: folder.path }, body)
}

const isOver = ({ state }: ServiceCall): boolean => finalStates.has(state)

const allCallsOf = Effect.fnUntraced(function* (calls: Calls, tenantId: string) {
  const { calls: listed } = yield* calls.list(tenantId, { order: "due", isAscending: true, limit: 200 })
  return yield* Effect.forEach(listed, ({ serviceCallId }) => calls.get(tenantId, serviceCallId))
})

test("200 calls of 20 tenants, half of them scheduled, each end once and are called once, not before their time", async () => {
  await using target = startTarget()
  await withRig((calls) =>
    Effect.gen(function* () {
      const submitted: Array<SubmittedCall> = []
      const soon = Date.now() + 1_000
      const asked = Array.from({ length: 200 }, (_, at): NewServiceCall & SubmittedCall => {
        const tenantId = `tenant-${at % 20}`
        const serviceCallId = `call-${at}`
        return {
          tenantId,
          serviceCallId,
          name: `call ${at}`,
          tags: [],
          ...(at % 2 === 0 ? {} : { dueAt: soon + at }),
          request: {
            method: "POST",
            url: `${target.url}/${at % 10 === 9 ? "fail" : "ok"}`,
            headers: { authorization: "Bearer secret" },
            body: JSON.stringify({ tenantId, serviceCallId }),
          },
        }
      })
      yield* Effect.forEach(
        asked,
        (one) => {
          submitted.push(one)
          return calls.submit(one)
        },
        { concurrency: 20 },
      )
      yield* Effect.forEach(submitted, (key) => until(calls, key, isOver))
      const ended = new Map<string, ReadonlyArray<EndedCall>>()
      for (let at = 0; at < 20; at++) ended.set(`tenant-${at}`, yield* allCallsOf(calls, `tenant-${at}`))
      expect(brokenPromises({ submitted, ended, seen: target.seen })).toEqual([])
      expect(target.seen).toHaveLength(200)
      const all = [...ended.values()].flat()
      const failed = all.filter(({ call }) => call.state === "Failed")
      expect(failed).toHaveLength(20)
      expect(new Set(failed.map(({ call }) => call.error?.kind))).toEqual(new Set(["status"]))
      expect(JSON.stringify(all)).not.toContain("secret")
    }),
  )
}, 120_000)

test("a scheduled call can be moved, annotated, cancelled and run again", async () => {
  await using target = startTarget()
  await withRig((calls) =>
    Effect.gen(function* () {
      const key = { tenantId: "acme", serviceCallId: "call-1" }
      const asked: NewServiceCall = {
        ...key,
        name: "Later",
        tags: ["a"],
        dueAt: Date.now() + 3_600_000,
        request: { method: "POST", url: `${target.url}/?token=secret`, body: JSON.stringify(key) },
      }
      const first = yield* calls.submit(asked)
      expect([first.isNew, first.call.state]).toEqual([true, "Submitted"])
      expect((yield* calls.submit(asked)).isNew).toBe(false)
      expect(yield* Effect.flip(calls.submit({ ...asked, name: "Other" }))).toMatchObject({
        code: "callExists",
      })
      yield* until(calls, key, ({ state }) => state === "Scheduled")
      const starred = yield* calls.annotate("acme", "call-1", { isStarred: true, tags: ["b"] })
      expect(starred).toMatchObject({ isStarred: true, tags: ["b"], state: "Scheduled" })
      expect((yield* calls.reschedule("acme", "call-1", Date.now() + 7_200_000)).dueTimes).toBe(2)
      expect((yield* calls.cancel("acme", "call-1")).state).toBe("Cancelled")
      expect((yield* calls.cancel("acme", "call-1")).state).toBe("Cancelled")
      expect(yield* Effect.flip(calls.reschedule("acme", "call-1", Date.now()))).toMatchObject({
        code: "callState",
      })
      expect(yield* Effect.flip(calls.cancel("other", "call-1"))).toMatchObject({ _tag: "CallNotFound" })
      const { call: again } = yield* calls.runAgain("acme", "call-1", { serviceCallId: "call-2" })
      const done = yield* until(calls, again, isOver)
      expect(done.state).toBe("Succeeded")
      expect((yield* calls.get("acme", "call-2")).call.response?.bodySnippet).toBe("done")
      expect(yield* Effect.flip(calls.cancel("acme", "call-2"))).toMatchObject({ code: "callState" })
      expect(target.seen).toHaveLength(1)
      const { counts } = yield* calls.counts("acme", {})
      expect(callStates.map((state) => counts[state])).toEqual([0, 0, 0, 1, 0, 1])
      const page = yield* calls.list("acme", { order: "submitted", isAscending: true, limit: 1 })
      expect(page.calls.map(({ serviceCallId }) => serviceCallId)).toEqual(["call-1"])
      const rest = { order: "submitted", isAscending: true, limit: 1 } as const
      const next = yield* calls.list("acme", { ...rest, cursor: page.nextCursor ?? "" })
      expect(next.calls.map(({ serviceCallId }) => serviceCallId)).toEqual(["call-2"])
      expect(yield* Effect.flip(calls.list("acme", { ...rest, cursor: "nonsense" }))).toMatchObject({
        code: "invalidRequest",
      })
    }),
  )
}, 60_000)
