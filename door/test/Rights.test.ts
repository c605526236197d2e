// Rights are actions in namespaces, and nobody can give more than they have.
import { expect, test } from "bun:test"
import { actions } from "@punctual/api/CallTerms"
import { covers, fullRights, GrantedRights, isFull, type Rights, roles } from "../src/Rights.ts"

const rightsOf = (namespaces: ReadonlyArray<string>, ...granted: Rights["actions"]): Rights => ({
  actions: granted,
  namespaces,
})

test("a name, a prefix and * reach what they say", () => {
  const granted = new GrantedRights(rightsOf(["billing", "team-*"], "timers.read"))
  const reached = ["billing", "team-", "team-a", "billing2", "bill", "team", "team-*", "te*", "*"]
  expect(reached.filter((name) => granted.may("timers.read", name))).toEqual([
    "billing",
    "team-",
    "team-a",
    "team-*",
  ])
  expect(granted.may("timers.write", "billing")).toBe(false)
})

test("an action without a namespace needs the namespace *", () => {
  expect(new GrantedRights(rightsOf(["billing", "b*"], "service.read")).may("service.read", undefined)).toBe(
    false,
  )
  expect(new GrantedRights(rightsOf(["*"], "service.read")).may("service.read", undefined)).toBe(true)
})

test("* as an action allows every action", () => {
  const granted = new GrantedRights(fullRights)
  expect(actions.filter((action) => !granted.may(action, undefined))).toEqual([])
})

test("the roles: an app sees payloads, a viewer does not, an operator manages everything except keys", () => {
  expect(roles.app).toEqual([
    "timers.read",
    "timers.write",
    "timers.cancel",
    "payload.read",
    "calls.read",
    "calls.write",
  ])
  expect(roles.viewer.filter((action) => !action.endsWith(".read"))).toEqual([])
  expect(roles.viewer).not.toContain("payload.read")
  const ofOperator: ReadonlyArray<string> = roles.operator
  expect(actions.filter((action) => !ofOperator.includes(action))).toEqual(["keys.manage"])
  expect(roles.admin).toEqual(["*"])
})

test("rights cover others only if every action and every namespace is within them", () => {
  const team = rightsOf(["team-*", "billing"], "timers.read", "timers.write")
  const covered: ReadonlyArray<readonly [Rights, boolean]> = [
    [team, true],
    [rightsOf(["team-a"], "timers.read"), true],
    [rightsOf(["team-a*"], "timers.read"), true],
    [rightsOf(["tea*"], "timers.read"), false],
    [rightsOf(["*"], "timers.read"), false],
    [rightsOf(["billing*"], "timers.read"), false],
    [rightsOf(["billing"], "timers.cancel"), false],
    [rightsOf(["billing"], "*"), false],
    [fullRights, false],
  ]
  for (const [others, expected] of covered) expect([others, covers(team, others)]).toEqual([others, expected])
  for (const [others] of covered) expect(covers(fullRights, others)).toBe(true)
  expect(isFull(rightsOf(["*"], ...actions))).toBe(false)
})
