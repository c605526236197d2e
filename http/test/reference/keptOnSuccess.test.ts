import { expect, test } from "bun:test"
import { keptOnSuccess } from "../../src/reference/keptOnSuccess.ts"

test("a failure is not kept, and a success is", async () => {
  let made = 0
  const value = keptOnSuccess(async () => {
    made++
    if (made === 1) throw new Error("not this time")
    return made
  })
  const [first, second] = await Promise.allSettled([value(), value()])
  expect([first?.status, second?.status]).toEqual(["rejected", "rejected"])
  expect(await value()).toBe(2)
  expect(await value()).toBe(2)
})
