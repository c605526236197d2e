// Calls that read many timers: the size of their pages, and how many of them run at once.
import { expect, test } from "bun:test"
import { pageBytesMax } from "@punctual/api/Limits"
import { Effect } from "effect"
import { succeeded } from "./answers.ts"
import { withService } from "./ServiceFixture.ts"

const timer = { namespace: "shop", delay: "1h", callbackUrl: "https://example.com/hook" }

test("a page of timers with many headers has about a megabyte, and the walk shows every timer once", () =>
  withService({}, async ({ call }) => {
    const { callbackUrl: url, ...rest } = timer
    const headersOf = (index: number) =>
      Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`x-${n}`, `${index}`.padEnd(250, "v")]))
    const timers = Array.from({ length: 300 }, (_, index) => ({
      ...rest,
      timerId: `t-${String(index).padStart(3, "0")}`,
      target: { type: "webhook", url, headers: headersOf(index) },
    }))
    succeeded("createMany", await call("createMany", { timers }))
    const seen: Array<string> = []
    let cursor: string | undefined
    do {
      const answered = await call("list", { namespace: "shop", idPrefix: "t-", limit: 1_000, cursor })
      expect(answered.text.length).toBeLessThan(1.1 * pageBytesMax)
      const page = succeeded("list", answered)
      expect(page.timers.length).toBeGreaterThan(0)
      seen.push(...page.timers.map(({ timerId }) => timerId))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(seen).toEqual(timers.map(({ timerId }) => timerId))
  }))

test("four calls that read many timers run at once, and other calls do not wait for them", async () => {
  const running: Array<() => void> = []
  let peak = 0
  const list = () =>
    Effect.promise(
      () =>
        new Promise<{ readonly timers: [] }>((done) => {
          running.push(() => done({ timers: [] }))
          peak = Math.max(peak, running.length)
        }),
    )
  await withService({ scheduler: { list } }, async ({ call }) => {
    const lists = Array.from({ length: 10 }, () => call("list", { namespace: "shop" }))
    while (running.length < 4) await new Promise((done) => setImmediate(done))
    succeeded("create", await call("create", { ...timer, timerId: "t" }))
    for (let ended = 0; ended < lists.length; ) {
      const end = running.shift()
      if (end === undefined) await new Promise((done) => setImmediate(done))
      else {
        end()
        ended++
      }
    }
    for (const answered of await Promise.all(lists)) succeeded("list", answered)
    expect(peak).toBe(4)
  })
})
