import { expect, test } from "bun:test"
import { specOfText } from "../../src/stores/SpecText.ts"
import { sampleTimer } from "../../testkit/timers.ts"

const textWith = (header: string): string => {
  const { spec } = sampleTimer()
  return JSON.stringify({ ...spec, target: { ...spec.target, headers: { "x-header": header } } })
}

test("timers with the same text share a spec", () => {
  expect(specOfText(textWith("a"))).toBe(specOfText(textWith("a")))
  expect(specOfText(textWith("a"))).not.toBe(specOfText(textWith("b")))
})

test("long texts empty the cache before they take much memory", () => {
  const kept = specOfText(textWith("kept"))
  for (let made = 0; made < 500; made++) specOfText(textWith(`${made}`.padEnd(20_000, "v")))
  expect(specOfText(textWith("kept"))).not.toBe(kept)
})
