// Shared by the tests of a failing store: creates until the service ends, one error that says why, and a restart after
// which every acknowledged timer is there or has been delivered.
import { expect } from "bun:test"
import { randomUUID } from "node:crypto"
import { eventually } from "../../testkit/eventually.ts"
import type { ProcessRun } from "./ProcessRun.ts"

const callers = 8
const createsMax = 20_000
const dueSoonMs = 300
const hourMs = 3_600_000

/**
 * Half of the timers are due soon, so that the service also writes outcomes. Returns how many creates were
 * acknowledged.
 */
export const createUntilItFalls = async (run: ProcessRun): Promise<number> => {
  let acknowledged = 0
  let asked = 0
  let hasFallen = false
  const calling = async () => {
    while (!hasFallen && asked++ < createsMax) {
      if ((await createOne(run, asked % 2 === 0 ? dueSoonMs : hourMs)) === "created") acknowledged++
    }
  }
  const falling = run.service.fallen().finally(() => {
    hasFallen = true
  })
  const [code] = await Promise.all([falling, ...Array.from({ length: callers }, calling)])
  expect(code).toBe(1)
  return acknowledged
}

/** The answer, or undefined if it is unknown. */
export const createOne = async (run: ProcessRun, inMs: number): Promise<string | undefined> => {
  const answer = await run.client.create({
    key: { namespace: "orders", timerId: randomUUID() },
    executeAtMs: Date.now() + inMs,
    callbackUrl: run.receiver.url,
    payload: '{"n":1.0}',
  })
  return answer?.result
}

/** One line for people, and no other error line. */
export const expectOneError = ({ service }: ProcessRun, says: string): void => {
  const last = service.logs.filter((line) => line.startsWith("punctual: "))
  expect(last).toEqual([expect.stringContaining(says)])
  expect(service.logs.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([])
}

export const expectRecovery = async (run: ProcessRun): Promise<void> => {
  await run.service.start()
  expect(await createOne(run, 0)).toBe("created")
  const dueUntilMs = Date.now()
  await eventually("nothing due is pending", async () => {
    const { pending } = run.contents()
    return pending.every(({ fireAtMs }) => fireAtMs > dueUntilMs) ? true : undefined
  })
  expect(await run.service.terminate()).toBe(0)
  run.expectInvariants({ dueUntilMs })
}
