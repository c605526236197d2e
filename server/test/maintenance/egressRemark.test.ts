// What doctor says about pending timers that the egress rules refuse.
import { expect, test } from "bun:test"
import { parseEgress } from "@punctual/egress/Egress"
import { makeEgressGate } from "@punctual/egress/makeEgressGate"
import { Effect, Result } from "effect"
import { egressWords } from "../../src/deliverers/webhook/egressWords.ts"
import { type CommandEgress, egressRemark } from "../../src/maintenance/egressRemark.ts"

const addresses: Readonly<Record<string, ReadonlyArray<string>>> = {
  "in.example.test": ["10.9.9.9"],
  "out.example.test": ["8.8.8.8"],
  "both.example.test": ["10.9.9.9", "8.8.8.8"],
}

const targets = [...Object.keys(addresses), "missing.example.test"].map((host, index) => ({
  url: `https://${host}`,
  count: index + 1,
}))

const remarkBy = (egress: CommandEgress, overdueCount = 0) =>
  Effect.runPromise(egressRemark({ targets, overdue: { count: overdueCount, worst: [] } }, egress))

const rulesOf = (text: string): CommandEgress => {
  const rules = Result.getOrThrow(parseEgress(text))
  const resolve = (host: string) => {
    const found = addresses[host]
    return found === undefined ? Promise.reject(new Error("not found")) : Promise.resolve(found)
  }
  return { gate: rules.isOpen ? undefined : makeEgressGate(rules, resolve, egressWords), text, isSet: true }
}

test("names a host with a dot if all addresses that it resolves to are refused", async () => {
  expect(await remarkBy(rulesOf("public"))).toStartWith(
    "1 pending timer has a target that TIMER_EGRESS does not allow (this command uses TIMER_EGRESS=public): https://in.example.test (1). ",
  )
  expect(await remarkBy(rulesOf("private"))).toContain(": https://out.example.test (2). ")
  expect(await remarkBy(rulesOf("public,private"))).toBeUndefined()
})

test("says that nothing was checked if timers are overdue and the rules are not set", async () => {
  const unset: CommandEgress = { gate: undefined, text: "open", isSet: false }
  expect(await remarkBy(unset, 1)).toContain("its settings do not contain TIMER_EGRESS")
  expect(await remarkBy(unset)).toBeUndefined()
  expect(await remarkBy(rulesOf("open"), 1)).toBeUndefined()
  expect(await remarkBy({ problem: "TIMER_EGRESS: wrong." })).toStartWith("TIMER_EGRESS: wrong. ")
})
