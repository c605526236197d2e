// Many waits with one timer.
import { expect, test } from "bun:test"
import { Deadlines } from "../src/Deadlines.ts"

test("many waits that end at the same time end in parts, and other work comes between them", async () => {
  const deadlines = new Deadlines(1)
  let ended = 0
  const all = Array.from({ length: 250 }, () =>
    deadlines.within<void>(
      new Promise(() => undefined),
      () => {
        ended++
      },
      () => undefined,
    ),
  )
  let most = 0
  for (let before = 0; ended < all.length; ) {
    before = ended
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, ended - before)
  }
  await Promise.all(all)
  expect(most).toBeLessThanOrEqual(100)
})

test("a wait that is finished in time does not end, and one that has ended cannot be finished", async () => {
  const deadlines = new Deadlines(5)
  const { promise, resolve } = Promise.withResolvers<void>()
  let isEnded = false
  const finished = deadlines.begin(() => {
    isEnded = true
  })
  const ended = deadlines.begin(resolve)
  expect(deadlines.finish(finished)).toBe(true)
  await promise
  expect(isEnded).toBe(false)
  expect(deadlines.finish(ended)).toBe(false)
})
