// A receiver refuses for good and later recovers. The refused timers are kept, shown, counted, replayed and delivered.
import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { accepted, type WebhookReply } from "../../testkit/Receiver.ts"
import { isConserved } from "../../testkit/TimerStoreModel.suite.ts"
import { ProcessRun } from "./ProcessRun.ts"

const namespace = "shop"
const count = 500
const gone: WebhookReply = { status: 410, meaning: { result: "dead" } }

test("timers that a receiver refused are listed, counted, replayed by a filter, and delivered when it recovers", async () => {
  let reply = gone
  await using run = await ProcessRun.start({ reply: () => reply })
  const { service, receiver, recorder } = run
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and the test says what it expects.
  const call = async (name: string, body: object): Promise<any> => {
    const response = await fetch(`${service.url}/api/v1/timers/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ namespace, ...body }),
    })
    expect(response.status).toBe(200)
    return response.json()
  }
  const countOf = async (state: string): Promise<number> => (await call("count", { state })).count
  const until = (what: string, state: string, expected: number) =>
    eventually(what, async () => ((await countOf(state)) === expected ? true : undefined))

  const ids = Array.from({ length: count }, (_, n) => `invoice-${n}`)
  const requests = ids.map((timerId) => ({
    key: { namespace, timerId },
    executeAtMs: Date.now(),
    callbackUrl: receiver.url,
    payload: JSON.stringify({ timerId }),
  }))
  await run.createAll(requests)
  await until("all are dead", "dead", count)
  const { timers } = await call("list", { state: "dead", limit: 1_000 })
  expect(timers).toHaveLength(count)
  for (const { attempts, reason, attemptLog } of timers)
    expect({ attempts, reason, attemptLog }).toMatchObject({
      attempts: 1,
      reason: "refused",
      attemptLog: [{ status: 410 }],
    })

  // Some timers of one prefix are discarded. All others are replayed once the receiver has recovered.
  expect(await call("discard", { filter: { idPrefix: "invoice-49" } })).toEqual({ discarded: 11 })
  const filter = { idPrefix: "invoice-", until: new Date().toISOString() }
  const expected = { replayed: count - 11, skipped: 0 }
  expect(await call("replay", { filter, dryRun: true })).toEqual(expected)
  expect(receiver.deliveries).toHaveLength(count)
  reply = accepted
  const asks = ids.map((timerId) => {
    const op = timerId.startsWith("invoice-49") ? "discard" : "replay"
    return [op, recorder.asked({ op, key: { namespace, timerId } })] as const
  })
  expect(await call("replay", { filter })).toEqual(expected)
  for (const [op, ask] of asks) recorder.answered(ask, { result: op === "replay" ? "replayed" : "discarded" })
  await until("all are delivered", "delivered", count - 11)

  expect(await countOf("dead")).toBe(0)
  expect(await countOf("pending")).toBe(0)
  expect(await call("replay", { all: true })).toEqual({ replayed: 0, skipped: 0 })
  expect(await service.terminate()).toBe(0)
  const { tally, pending } = run.contents()
  expect(tally).toMatchObject({ created: count, replayed: count - 11, delivered: count - 11, discarded: 11 })
  expect(isConserved(tally, pending.length)).toBe(true)
  run.expectInvariants()
}, 60_000)
