// What endpoints declare about themselves. Servers of the contract rely on this instead of on endpoint names.
import { expect, test } from "bun:test"
import { HttpApi } from "effect/http-api"
import { actions } from "../src/CallTerms.ts"
import { contractEndpoints } from "../src/contractEndpoints.ts"
import { defaultLimits } from "../src/Limits.ts"
import { PunctualApi } from "../src/PunctualApi.ts"

const endpoints = contractEndpoints(defaultLimits)

test("every endpoint of the definition is listed, and declares an action", () => {
  const paths: Array<string> = []
  HttpApi.reflect(PunctualApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => paths.push(endpoint.path),
  })
  expect(endpoints.map(({ path }) => path)).toEqual(paths)
  const needed: ReadonlyArray<string> = [...actions, "none"]
  for (const { path, action } of endpoints) expect([path, needed.includes(action)]).toEqual([path, true])
})

test("the actions are those that rights are granted for", () => {
  const byAction = Object.groupBy(endpoints, ({ action }) => action)
  const named = Object.entries(byAction).map(([action, those]) => [
    action,
    those.map(({ path }) => path.replace("/api/v1/", "")).join(" "),
  ])
  expect(Object.fromEntries(named)).toEqual({
    "timers.write": "timers/create timers/createMany timers/update",
    "timers.read":
      "timers/get timers/list timers/count timers/histogram timers/lives timers/activity bulk/get bulk/list egress/check",
    "timers.cancel": "timers/delete timers/deleteMany",
    "dead.replay": "timers/replay",
    "dead.discard": "timers/discard",
    "namespaces.write": "namespaces/put",
    "namespaces.read": "namespaces/get namespaces/list",
    "service.read": "cluster service/get breakers/list",
    "service.write": "service/pause service/resume breakers/reset",
    "clock.advance": "clock/advance",
    "bus.read": "messages/list messages/get",
    "bus.write": "messages/replay messages/discard",
    "keys.manage": "keys/create keys/rotate keys/revoke keys/confirm keys/get keys/list",
    none: "bulk/start bulk/abort keys/revokeLeaked keys/self sessions/create sessions/end",
    "audit.read": "audit/list",
  })
  const withoutCall = actions.filter((action) => byAction[action] === undefined)
  expect(withoutCall).toEqual(["payload.read", "metrics.read", "calls.read", "calls.write"])
})

test("every action of an operator is audited: keys, settings, pauses, breakers, the clock, and all that replay, discard or cancel many", () => {
  const audited = endpoints.filter(({ isAudited }) => isAudited === true)
  expect(audited.map(({ group, name }) => `${group}.${name}`)).toEqual([
    "timers.deleteMany",
    "timers.replay",
    "timers.discard",
    "bulk.start",
    "bulk.abort",
    "clock.advance",
    "namespaces.put",
    "service.pause",
    "service.resume",
    "breakers.reset",
    "messages.replay",
    "messages.discard",
    "keys.create",
    "keys.rotate",
    "keys.revoke",
    "keys.revokeLeaked",
    "keys.confirm",
  ])
})

test("only createMany may have a larger body, only advance may take more time, and only cluster answers always", () => {
  const differing = endpoints.flatMap((endpoint) => [
    ...(endpoint.maxBodyBytes === defaultLimits.bodyBytes ? [] : [`${endpoint.name} body`]),
    ...(endpoint.answerWithinMs === undefined ? [] : [`${endpoint.name} time`]),
    ...(endpoint.answersWhenClosed === true ? [`${endpoint.name} always`] : []),
  ])
  expect(differing.toSorted()).toEqual(["advance time", "cluster always", "createMany body"])
  expect(endpoints.find(({ name }) => name === "createMany")?.maxBodyBytes).toBe(
    defaultLimits.createManyBodyBytes,
  )
})

test("an answer that differs from the contract cannot be encoded", () => {
  const advance = endpoints.find(({ name }) => name === "advance")
  expect(advance?.encode({ now: 0, fired: 1 })).toEqual({ now: "1970-01-01T00:00:00.000Z", fired: 1 })
  expect(() => advance?.encode({ now: "soon", fired: 1 })).toThrow()
})
