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

const times = (tries: FailedTries, count: number, address: string, nowMs: number) =>
  Array.from({ length: count }, () => tries.failed(address, nowMs))

test("the first 10 wrong keys of an address do not wait, and the next ones wait longer and longer, up to a limit", () => {
  const tries = new FailedTries()
  expect(times(tries, 10, "10.0.0.1", 0)).toEqual(Array.from({ length: 10 }, () => 0))
  expect(times(tries, 8, "10.0.0.1", 0)).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000])
  expect(times(tries, 1_000, "10.0.0.1", 0).at(-1)).toBe(2_000)
  expect(tries.failed("10.0.0.2", 0)).toBe(0)
})

test("an address is forgotten after a minute without a wrong key", () => {
  const tries = new FailedTries()
  times(tries, 12, "10.0.0.1", 0)
  expect(tries.failed("10.0.0.1", 59_999)).toBe(200)
  expect(tries.failed("10.0.0.1", 119_998)).toBe(400)
  expect(tries.failed("10.0.0.1", 179_998)).toBe(0)
})

test("10,000 addresses are remembered, those that failed last", () => {
  const tries = new FailedTries()
  times(tries, 11, "10.0.0.1", 0)
  times(tries, 11, "10.0.0.2", 0)
  tries.failed("10.0.0.1", 0)
  for (let address = 0; address < 9_999; address++) tries.failed(`other-${address}`, 0)
  expect(tries.failed("10.0.0.1", 0)).toBe(200)
  expect(tries.failed("10.0.0.2", 0)).toBe(0)
})
