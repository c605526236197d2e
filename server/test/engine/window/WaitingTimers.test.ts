import { expect, test } from "bun:test"
import { Entry, type Home } from "../../../src/engine/window/Entry.ts"
import { WaitingTimers } from "../../../src/engine/window/WaitingTimers.ts"
import { sampleTimer } from "../../../testkit/timers.ts"

const home = {} as Home
const entry = (namespace: string, executeAt: number) => new Entry(sampleTimer({ namespace, executeAt }), home)
const namesOf = (entries: Iterable<Entry>) =>
  [...entries].map(({ timer }) => `${timer.namespace}@${timer.fireAt}`)

test("due timers of known namespaces leave first, and those of new ones have a share of their own", () => {
  const waiting = new WaitingTimers((namespace) => namespace === "known")
  for (let index = 0; index < 5; index++) waiting.push(entry(`new-${index}`, 10))
  for (const executeAt of [12, 11, 13, 14]) waiting.push(entry("known", executeAt))
  expect(waiting.peek()?.timer.namespace).toBe("new-0")
  expect(namesOf(waiting.takeDue(13, 2, 1))).toEqual(["known@11", "known@12", "new-0@10"])
  expect(namesOf(waiting.takeDue(13, 2, 2))).toEqual(["known@13", "new-1@10", "new-2@10"])
  expect(namesOf(waiting.takeDue(13, 2, 9))).toEqual(["new-3@10", "new-4@10"])
  expect(namesOf([waiting.peek()].flatMap((one) => one ?? []))).toEqual(["known@14"])
  expect(namesOf(waiting.takeDue(14, 2, 2))).toEqual(["known@14"])
  expect(waiting.peek()).toBeUndefined()
  waiting.push(entry("new-5", 15))
  expect(waiting.peek()?.timer.namespace).toBe("new-5")
})

test("a timer keeps its place if its namespace becomes known, and can be removed from it", () => {
  const known = new Set<string>()
  const waiting = new WaitingTimers((namespace) => known.has(namespace))
  const [first, second] = [entry("a", 1), entry("a", 2)]
  waiting.push(first)
  waiting.push(second)
  known.add("a")
  waiting.push(entry("a", 3))
  waiting.remove(first)
  expect(namesOf(waiting.values()).toSorted()).toEqual(["a@2", "a@3"])
  expect(namesOf(waiting.takeDue(9, 9, 9))).toEqual(["a@3", "a@2"])
})
