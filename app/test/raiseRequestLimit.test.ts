import { expect, test } from "bun:test"
import { defaultTurnBounds } from "@punctual/agent/execution/TurnQueue"
import { deliverySlotsOf } from "@punctual/server/settings/deliverySlotsOf"
import { leavingRequests, runtimeRequestsName } from "@punctual/server/settings/runtimeRequests"
import { requestsAtOnce, requestsOfAgent } from "../src/raiseRequestLimit.ts"

const deliveriesWith = (maxInFlight: number, requests: number): number => {
  const environment = leavingRequests({ [runtimeRequestsName]: String(requests) }, requestsOfAgent)
  const { normal, slow, trial } = deliverySlotsOf({ maxInFlight, slowSharePercent: 20 }, environment).slots
  return normal + slow + trial
}

test("the calls of the agent and the deliveries of the Timer fit into the requests of one runtime", () => {
  expect(requestsOfAgent).toBe(defaultTurnBounds.atOnce + defaultTurnBounds.slow)
  const requests = requestsAtOnce(["agent", "--demo"])
  for (const maxInFlight of [1, 200, 500, 1_000]) {
    expect(deliveriesWith(maxInFlight, requests) + requestsOfAgent).toBeLessThanOrEqual(requests)
  }
})

test("the Timer beside the agent has as many deliveries as alone", () => {
  expect(deliveriesWith(200, requestsAtOnce(["agent"]))).toBe(requestsAtOnce(["serve"]))
})

test("a runtime with few requests still starts", () => {
  expect(leavingRequests({}, requestsOfAgent)).toEqual({ [runtimeRequestsName]: "256" })
  expect(leavingRequests({ [runtimeRequestsName]: "300" }, 256)).toEqual({ [runtimeRequestsName]: "256" })
  expect(leavingRequests({ [runtimeRequestsName]: "100" }, 256)).toEqual({ [runtimeRequestsName]: "100" })
})
