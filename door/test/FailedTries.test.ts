import { expect, test } from "bun:test"
import { FailedTries, waitingPerAddressMax } from "../src/FailedTries.ts"

test("answers to wrong keys of one address wait, but only some at once, and other addresses have places of their own", async () => {
  const wakes: Array<() => void> = []
  const tries = new FailedTries(2_000, () => new Promise((resolve) => wakes.push(resolve)))
  const waiting = Array.from({ length: waitingPerAddressMax }, () => tries.wait("10.0.0.1", 2_000))
  expect(wakes.length).toBe(waitingPerAddressMax)
  await tries.wait("10.0.0.1", 2_000)
  expect(wakes.length).toBe(waitingPerAddressMax)
  void tries.wait("10.0.0.2", 2_000)
  expect(wakes.length).toBe(waitingPerAddressMax + 1)
  wakes[0]?.()
  await waiting[0]
  void tries.wait("10.0.0.1", 2_000)
  expect(wakes.length).toBe(waitingPerAddressMax + 2)
})

test("all addresses together have at most 1,000 answers that wait", async () => {
  let slept = 0
  const tries = new FailedTries(2_000, () => {
    slept++
    return new Promise(() => {})
  })
  for (let address = 0; address < 1_000; address++) void tries.wait(`10.0.0.${address}`, 50)
  await tries.wait("10.1.0.1", 50)
  expect(slept).toBe(1_000)
})
