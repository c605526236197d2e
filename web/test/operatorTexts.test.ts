// Small parts of the pages of operators that need no browser.
import { describe, expect, test } from "bun:test"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { makeSecret } from "../console/namespaces/makeSecret.ts"
import { ownerColours } from "../console/status/ownerColours.ts"
import { countText } from "../kit/countText.ts"
import { formErrors } from "../kit/formErrors.ts"
import { ApiProblem } from "../kit/serviceCall.ts"

test("a count that the service cut says that there are more", () => {
  expect(countText({ count: 10_000, capped: true })).toBe("10,000+")
  expect(countText({ count: 1_234, capped: false })).toBe("1,234")
})

describe("errors of a form", () => {
  const errors = [
    { pointer: "/retryPolicy/waits/1", detail: "must be a duration" },
    { pointer: "/maxPending", detail: "must be a whole number from 0 to 5, or null" },
    { pointer: "/namespace", detail: "must not begin with _" },
  ]
  const problem = new ApiProblem(400, "invalidRequest", "The request is wrong.", errors)

  test("stand at the nearest field, and the others apart", () => {
    const { at, others } = formErrors(problem, ["/maxPending", "/retryPolicy", "/retryPolicy/waits"])
    expect(at("/retryPolicy/waits")).toBe("must be a duration")
    expect(at("/retryPolicy")).toBeUndefined()
    expect(at("/maxPending")).toBe("must be a whole number from 0 to 5, or empty")
    expect(others).toEqual(["namespace must not begin with _"])
  })

  test("that name no field are shown whole, and without an error there is nothing", () => {
    const unreachable = new ApiProblem(0, "unreachable", "The service cannot be reached.")
    expect(formErrors(unreachable, ["/reason"]).others).toEqual(["The service cannot be reached."])
    expect(formErrors(null, ["/reason"]).others).toEqual([])
  })
})

test("each secret of the browser is new, and valid for the contract", () => {
  const secrets = Array.from({ length: 50 }, makeSecret)
  expect(new Set(secrets).size).toBe(50)
  for (const secret of secrets) expect(secretBytes(secret)?.length).toBe(32)
})

test("a node keeps its colour, whoever answers and in whatever order", () => {
  const member = (node: string) => ({
    node,
    address: "",
    isLive: true,
    isLeaving: false,
    heartbeatAgeMs: 0,
    shards: 1,
  })
  const shards = [{ shard: 0, owner: "gone", epoch: 1 }]
  const one = ownerColours({ node: "a", nodes: [member("a"), member("b")], shards })
  const other = ownerColours({ node: "b", nodes: [member("b"), member("a")], shards })
  expect([...one].sort()).toEqual([...other].sort())
  expect(new Set(one.values()).size).toBe(3)
})
