// Which answers of writes move a pending timer, and from where to where.
import { expect, test } from "bun:test"
import { endOfLife } from "../../../src/domain/endOfLife.ts"
import type { WriteAnswer, WriteItem } from "../../../src/domain/WriteItem.ts"
import { pendingMoveOf } from "../../../src/engine/census/PendingMove.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  discardOf,
  outcomeOf,
  putOf,
  replayOf,
  sampleTimer,
  scheduleOf,
} from "../../../testkit/timers.ts"

const timer = sampleTimer({ fireAt: 2_000 })
const before = { fireAt: 1_000, fireId: "before" }
const place = expect.objectContaining({ fireAt: timer.fireAt, fireId: timer.fireId })

test("an answer tells where the pending timer was and where it is, or that nothing moved", () => {
  const life = endOfLife(timer, "delivered", 3_000)
  const rows: ReadonlyArray<readonly [WriteItem, WriteAnswer, ("from" | undefined)?, "to"?]> = [
    [putOf(timer), { result: "created", timer }, undefined, "to"],
    [scheduleOf(timer), { result: "created", timer }, undefined, "to"],
    [replayOf(timer), { result: "replayed", timer }, undefined, "to"],
    [putOf(timer), { result: "replaced", timer }, "from", "to"],
    [changeOf(timer, {}), { result: "changed", timer }, "from", "to"],
    [scheduleOf(timer), { result: "moved", timer }, "from", "to"],
    [cancelOf(timer), { result: "cancelled" }, "from"],
    [cancelOf(timer), { result: "inFlight" }, "from"],
    [scheduleOf(timer, { cancels: true }), { result: "cancelled" }, "from"],
  ]
  for (const [item, answer, from, to] of rows) {
    const move = { namespace: timer.namespace, uuid: timer.uuid }
    expect(pendingMoveOf(item, answer, from && before)).toEqual({
      ...move,
      ...(from && { from: before }),
      ...(to && { to: place }),
    })
    // The store does not know the earlier place of a write that it carried out before.
    if (from !== undefined) expect(pendingMoveOf(item, answer, undefined)).toBeUndefined()
  }
  const outcome = outcomeOf(timer, delivered)
  const next = { ...timer, fireAt: 9_000 }
  expect(pendingMoveOf(outcome, { result: "settled" }, undefined)).toMatchObject({ from: place })
  expect(pendingMoveOf(outcome, { result: "settled" }, undefined)).not.toHaveProperty("to")
  expect(pendingMoveOf(outcome, { result: "settled", next }, undefined)).toMatchObject({
    from: place,
    to: { fireAt: 9_000 },
  })
  for (const [item, answer] of [
    [putOf(timer), { result: "unchanged", timer }],
    [putOf(timer), { result: "exists", timer }],
    [putOf(timer), { result: "alreadyFinished", life }],
    [changeOf(timer, {}), { result: "inFlight" }],
    [outcome, { result: "stale" }],
    [discardOf(timer), { result: "discarded" }],
    [cancelOf(timer), { result: "notFound" }],
    [cancelOf(timer), { result: "unknown" }],
  ] as const) {
    expect(pendingMoveOf(item, answer, undefined)).toBeUndefined()
  }
})
