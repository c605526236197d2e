// How calls are answered while the service starts, waits or stops. Each answer says that nothing was written.
import { expect, test } from "bun:test"
import { toProblemDocument } from "@punctual/api/Problem"
import type { EngineStatus } from "../../src/engine/Engine.ts"
import type { WaitsFor } from "../../src/engine/ownership/Ownership.ts"
import { Availability, whyStarting } from "../../src/http/Availability.ts"

const waiting: EngineStatus = {
  shards: 0,
  ownedShards: 0,
  shardsElsewhere: 0,
  isWaiting: true,
  isPaused: false,
  isDraining: false,
  stalledLoops: [],
}

test("says that nothing was written, and how long to wait", () => {
  const statuses = { status: () => waiting }
  const stopped = new Availability({ status: () => ({ ...waiting, isWaiting: false }) }, false)
  expect(stopped.whyClosed()).toBeUndefined()
  stopped.stop()
  const closed = [
    whyStarting(),
    stopped.whyClosed(),
    new Availability({ status: () => ({ ...waiting, waitsFor: "otherProcess" }) }, false).whyClosed(),
    new Availability({ status: () => ({ ...waiting, waitsFor: "nextClaim" }) }, false).whyClosed(),
    new Availability(statuses, true).whyClosed(),
  ]
  const told = closed.map((problem) => (problem === undefined ? undefined : toProblemDocument(problem)))
  expect(told.map((problem) => problem?.written)).toEqual(["no", "no", "no", "no", "no"])
  for (const problem of told) {
    expect(problem).toMatchObject({ status: 503, code: "ownerUnavailable" })
    expect(problem?.retryAfterSeconds).toBeGreaterThan(0)
    expect(problem?.detail).toContain("Nothing was written")
  }
  expect(new Set(told.map((problem) => problem?.detail)).size).toBe(5)
})

test("speaks of another process only if there is one", () => {
  const detailOf = (waitsFor: WaitsFor) => {
    const problem = new Availability({ status: () => ({ ...waiting, waitsFor }) }, false).whyClosed()
    return problem === undefined ? "" : toProblemDocument(problem).detail
  }
  expect(detailOf("firstClaim")).toStartWith("The service is starting.")
  expect(detailOf("nextClaim")).toStartWith("This process has lost its shards")
  expect(detailOf("otherProcess")).toStartWith("Another process owns the store")
})

test("answers at once when the wait is over, and does not read the status for every call of an open service", () => {
  let looks = 0
  let status = waiting
  const availability = new Availability(
    {
      status: () => {
        looks++
        return status
      },
    },
    false,
  )
  expect(availability.whyClosed()).toBeDefined()
  status = { ...waiting, isWaiting: false }
  for (let call = 0; call < 10_000; call++) expect(availability.whyClosed()).toBeUndefined()
  expect(looks).toBeLessThan(1_000)
})
