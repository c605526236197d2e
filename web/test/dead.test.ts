// The parts of the pages Dead letters and Bulk jobs that need no browser: groups, words and counts.
import { describe, expect, test } from "bun:test"
import { finishReasons } from "@punctual/api/TimerFilter"
import type { Timer } from "../console/api.ts"
import { type BulkJob, handledBy, listOf, resultText } from "../console/bulk/bulkJob.ts"
import { isConfirmed, needsConfirmation } from "../console/bulk/CountConfirmation.tsx"
import { groupsOf, reasonText } from "../console/dead/groups.ts"

const dead = (
  timerId: string,
  url: string,
  reason = "refused",
  finishedAt = "2026-11-17T09:00:00.000Z",
): Timer => ({
  namespace: "shop",
  timerId,
  state: "dead",
  revision: 1,
  fireId: timerId,
  executeAt: finishedAt,
  attempts: 1,
  target: { type: "webhook", url, method: "POST", timeout: "10s", body: "payload" },
  retryPolicy: { waits: [] },
  correlationId: "c",
  createdAt: finishedAt,
  updatedAt: finishedAt,
  finishedAt,
  reason,
})

describe("groups of dead letters", () => {
  test("have one host with its port and one reason, the largest first, then the latest", () => {
    const groups = groupsOf([
      dead("a", "https://h.test/x"),
      dead("b", "https://h.test:443/y"),
      dead("c", "http://h.test/x", "refused", "2026-11-17T09:00:01.000Z"),
      dead("d", "https://h.test:8443/x"),
      dead("e", "https://h.test/x", "expired", "2026-11-17T09:00:02.000Z"),
    ])
    expect(
      groups.map(({ place, reason, timers }) => [place, reason, timers.map(({ timerId }) => timerId)]),
    ).toEqual([
      ["h.test", "refused", ["a", "b"]],
      ["h.test", "expired", ["e"]],
      ["h.test:80", "refused", ["c"]],
      ["h.test:8443", "refused", ["d"]],
    ])
    expect(groups[0]?.filter).toEqual({ host: "h.test:443", reason: "refused" })
  })

  test("show the timer that died last, whatever the order of the list", () => {
    const [group] = groupsOf([
      dead("early", "https://h.test/"),
      dead("late", "https://h.test/", "refused", "2026-11-17T10:00:00.000Z"),
      dead("middle", "https://h.test/", "refused", "2026-11-17T09:30:00.000Z"),
    ])
    expect(group?.latest.timerId).toBe("late")
  })

  test("no filter selects targets without a host, or reasons that the contract does not know", () => {
    const event: Timer = { ...dead("a", ""), target: { type: "event" } }
    expect(
      groupsOf([event, dead("b", "https://h.test/", "unheard")]).map(({ place, filter }) => [place, filter]),
    ).toEqual([
      ["event", undefined],
      ["h.test", undefined],
    ])
  })

  test("every reason of dead letters has words", () => {
    const unworded = finishReasons.filter((reason) => reasonText(reason) === reason)
    expect(unworded).toEqual(["notDead"])
  })
})

const job = (fields: Partial<BulkJob>): BulkJob => ({
  jobId: "01b8d832-8600-7000-8000-5d1f0c2ab9e4",
  do: "replay",
  filter: { namespaces: ["*"] },
  reason: "r",
  perSecond: 500,
  expect: 10,
  state: "running",
  startedBy: { caller: "ops" },
  startedAt: "2026-11-17T09:00:00.000Z",
  done: {},
  examined: 0,
  ...fields,
})

describe("a job in words", () => {
  test("its result says what was done first, and leaves out what did not happen", () => {
    expect(resultText(job({ done: { replayed: 1_204, skipped: 3 } }))).toBe("1,204 replayed, 3 skipped")
    expect(resultText(job({ done: { cancelled: 0, inFlight: 0, skipped: 0 } }))).toBe("0 cancelled")
    expect(handledBy(job({ done: { cancelled: 5, inFlight: 1, skipped: 2 } }))).toBe(8)
  })

  test("its filter leads to the same list", () => {
    const filter = {
      namespaces: ["a", "team-*"],
      idPrefix: "x y",
      host: "h.test",
      from: "2026-11-17T09:00:00.000Z",
    }
    expect(listOf(job({ filter }))).toEqual({
      page: "dead-letters",
      parameters: {
        q: 'namespace:a namespace:team-* id:"x y" host:h.test',
        from: "2026-11-17T09:00:00.000Z",
        until: undefined,
      },
    })
    expect(listOf(job({ do: "cancel" }))).toMatchObject({ page: "timers", parameters: { q: "" } })
  })
})

describe("the typed count", () => {
  test("is needed for many that cannot be brought back, and for a count that stopped early", () => {
    expect(needsConfirmation(true, 100)).toBe(false)
    expect(needsConfirmation(true, 101)).toBe(true)
    expect(needsConfirmation(true, 5, true)).toBe(true)
    expect(needsConfirmation(false, 100_000)).toBe(false)
  })

  test("may have separators, and must be the number", () => {
    for (const typed of ["12431", " 12,431 ", "12.431", "12 431"])
      expect(isConfirmed(typed, 12_431)).toBe(true)
    for (const typed of ["", "1243", "12431x", "-12431", "12,,431"])
      expect(isConfirmed(typed, 12_431)).toBe(false)
  })
})
