// The whole life of a timer through the client, against the real service, over a network that loses requests and
// answers, keeps them too long and doubles them.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { executableIn } from "../../../harness/fromSource.ts"
import { type Fault, faultKinds, UnreliableProxy } from "../../../harness/UnreliableProxy.ts"
import { newTimerId } from "../../src/core/newTimerId.ts"
import { PunctualError } from "../../src/errors.ts"
import { Punctual } from "../../src/Punctual.ts"
import { TestService } from "../../src/testing.ts"

setDefaultTimeout(120_000)

/** A call whose answer is held ends after this. The tries after it have the same limit, so there are many of them. */
const holdMs = 2_000

const folder = new TemporaryFolder()
let service: TestService
let proxy: UnreliableProxy
/** Through the network. Delays count by the clock of this machine, as in a real program. */
let punctual: Punctual

beforeAll(async () => {
  service = await TestService.start({ executable: executableIn(folder.path) })
  proxy = await UnreliableProxy.before(service.url)
  punctual = new Punctual({ url: proxy.url, namespace: "test", maxRetries: 5, timeoutMs: holdMs })
})

afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]()
  await service?.stop()
  folder[Symbol.dispose]()
})

/** Makes the call while the network has this fault once. */
const under = <A>(fault: Fault, call: () => Promise<A>): Promise<A> => {
  proxy.faults = [fault]
  return call()
}

describe("a timer lives its life in spite of the network", () => {
  test.each([...faultKinds])("%s", async (fault) => {
    const { timers } = punctual
    const receiver = await service.receiver(({ timerId }) => (timerId.startsWith("bad") ? 422 : 200))
    const timerId = await newTimerId(Date.now())
    const bad = `bad-${timerId}`
    const executeAt = new Date((await service.now()).getTime() + 3_600_000)

    // Each held answer takes its time, so only two calls are held: one that succeeds after it, and one that does not.
    const later = fault === "hold" ? "pass" : fault
    const created = await under(fault, () => timers.create({ timerId, executeAt, callbackUrl: receiver.url }))
    expect(["created", "unchanged"]).toContain(created.result)
    await under(later, () => timers.createMany([{ timerId: bad, executeAt, callbackUrl: receiver.url }]))
    const read = await under(later, () => timers.get({ timerId }))
    expect(read.revision).toBe(created.timer.revision)
    const tags = [timerId]
    const { revision: ifRevision } = read
    // If the first answer was lost, the repeat finds the new revision: then the change may be our own.
    const updated = await under(fault, () => timers.update({ timerId, tags, ifRevision })).catch(
      (error: PunctualError) => {
        expect(error).toMatchObject({ code: "revisionMismatch" })
        if (fault !== "duplicate") expect(error.written).toBe("unknown")
      },
    )
    expect(updated !== undefined).toBe(fault === "pass" || fault === "cutBefore")
    const listed = await under(later, () => timers.list({ tag: timerId }).toArray({ limit: 10 }))
    expect(listed.map((timer) => timer.timerId)).toEqual([timerId])

    await service.advance("1h")
    expect(receiver.deliveries.map((delivery) => delivery.timerId).sort()).toEqual([bad, timerId].sort())
    expect((await under(later, () => timers.get({ timerId }))).state).toBe("delivered")
    expect((await under(later, () => timers.cancel({ timerId }))).result).toBe("alreadyDelivered")
    expect((await under(later, () => timers.get({ timerId: bad }))).state).toBe("dead")
    expect((await under(later, () => timers.count({ state: "dead", idPrefix: bad }))).count).toBe(1)
  })
})

describe("a call that must not happen twice is sent once", () => {
  test.each(["cutAfter", "hold"] as const)("%s", async (fault) => {
    const { timers } = punctual
    const tag = await newTimerId(Date.now())
    const executeAt = new Date((await service.now()).getTime() + 3_600_000)
    const callbackUrl = "http://127.0.0.1:9/"
    await timers.create({ executeAt, callbackUrl, tags: [tag] })
    const before = proxy.requests
    const failed = await under(fault, () => timers.cancelMany({ filter: { tag } })).catch(
      (error: unknown) => error,
    )
    expect(failed).toBeInstanceOf(PunctualError)
    expect(failed).toMatchObject({ written: "unknown", retryable: true })
    expect(proxy.requests).toBe(before + 1)
    expect((await timers.count({ tag })).count).toBe(0)
  })
})

test("the caller's signal ends a call, and says that it may have been carried out", async () => {
  const timerId = await newTimerId(Date.now())
  const ending = new AbortController()
  proxy.faults = ["hold"]
  const call = punctual.timers.create(
    { timerId, delay: "1h", callbackUrl: "http://127.0.0.1:9/" },
    { signal: ending.signal, timeoutMs: 60_000 },
  )
  const direct = new Punctual({ url: service.url, namespace: "test", maxRetries: 5 })
  // The service has the timer, and the client still waits for the answer.
  for (;;) {
    const found = await direct.timers.get({ timerId }).catch(() => undefined)
    if (found !== undefined) break
  }
  ending.abort()
  expect(await call.catch((error: unknown) => error)).toMatchObject({ code: "aborted", written: "unknown" })
  const early = await punctual.timers
    .cancel({ timerId }, { signal: ending.signal })
    .catch((error: unknown) => error)
  expect(early).toMatchObject({ code: "aborted", written: "no" })
})
