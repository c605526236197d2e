import { expect, test } from "bun:test"
import { nearName } from "../src/nearName.ts"

test("a near name differs by a slip of the fingers, or in case", () => {
  const known = ["executeAt", "payload", "tags", "timerId"]
  for (const [name, meant] of [
    ["executeat", "executeAt"],
    ["exeuteAt", "executeAt"],
    ["execuetAt", "executeAt"],
    ["playload", "payload"],
    ["tag", "tags"],
    ["timerid", "timerId"],
  ] as const)
    expect(nearName(name, known)).toBe(meant)
  for (const name of ["", "id", "tasks", "exec", "x".repeat(10_000)])
    expect(nearName(name, known)).toBeUndefined()
})
