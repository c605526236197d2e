import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { makeCreateTimer } from "../src/CreateTimer.ts"
import { contractEndpoints } from "../src/contractEndpoints.ts"
import { invalidRequest } from "../src/invalidRequest.ts"
import { defaultLimits } from "../src/Limits.ts"
import { decodeScheduleTimer } from "../src/ScheduleTimer.ts"
import { shortenArrays } from "../src/shortenArrays.ts"

const endpoint = (group: string, name: string) => {
  const found = contractEndpoints(defaultLimits).find((one) => one.group === group && one.name === name)
  if (found === undefined) throw new Error(`there is no call ${group}.${name}`)
  return found
}

/** An array that counts how many of its elements are read. */
const counted = (length: number, element: unknown) => {
  const reads = { count: 0 }
  const array = new Proxy(new Array(length).fill(element), {
    get: (target, key, receiver) => {
      if (typeof key === "string" && /^\d+$/.test(key)) reads.count++
      return Reflect.get(target, key, receiver)
    },
  })
  return { array, reads }
}

describe("an array that is too long", () => {
  const create = { namespace: "n", delay: "1s", callbackUrl: "http://localhost/" }
  const cases: ReadonlyArray<[string, string, (array: unknown) => unknown, unknown, number, string]> = [
    ["timers", "create", (tags) => ({ ...create, tags }), "a", 10, "/tags"],
    ["timers", "create", (waits) => ({ ...create, retryPolicy: { waits } }), "1s", 99, "/retryPolicy/waits"],
    ["timers", "update", (tags) => ({ namespace: "n", timerId: "t", tags }), "a", 10, "/tags"],
    ["timers", "list", (namespaces) => ({ namespaces }), "a", 20, "/namespaces"],
    ["timers", "list", (states) => ({ namespace: "n", states }), "pending", 5, "/states"],
    ["timers", "createMany", (timers) => ({ timers }), {}, 1_000, "/timers"],
    [
      "namespaces",
      "put",
      (webhookSecrets) => ({ namespace: "n", webhookSecrets }),
      `whsec_${"A".repeat(32)}`,
      2,
      "/webhookSecrets",
    ],
  ]
  for (const [group, name, bodyOf, element, most, pointer] of cases) {
    test(`is refused before its elements are decoded: ${pointer} of ${name}`, () => {
      const { array, reads } = counted(100_000, element)
      const decoded = endpoint(group, name).decode(bodyOf(array))
      if (Result.isSuccess(decoded)) throw new Error("the body was accepted")
      expect(invalidRequest(decoded.failure).errors.map((error) => error.pointer)).toContain(pointer)
      expect(reads.count).toBeLessThanOrEqual(most + 1)
    })
  }

  test("in a message of the bus, too", () => {
    const { array, reads } = counted(100_000, "a")
    const body = { tenantId: "n", serviceCallId: "t", dueAt: "2031-01-01T00:00:00Z", tags: array }
    const decoded = decodeScheduleTimer(body)
    expect(Result.isFailure(decoded)).toBe(true)
    expect(reads.count).toBeLessThanOrEqual(11)
  })

  test("an allowed array stays as it is", () => {
    const tags = Array.from({ length: 10 }, (_, index) => `tag-${index}`)
    const body = { ...create, tags }
    shortenArrays(makeCreateTimer(defaultLimits))(body)
    expect(body.tags).toBe(tags)
  })
})
