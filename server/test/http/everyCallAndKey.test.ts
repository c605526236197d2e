// Every call of the contract with every kind of key, in a header and as a session: only the right key is let in, and the
// others change nothing.
import { expect, test } from "bun:test"
import {
  CallTable,
  callsWithoutKey,
  expectedVerdict,
  type KeyWay,
  keyKinds,
  tableNamespace,
  verdictOf,
} from "../../testkit/CallTable.ts"
import { withService } from "./ServiceFixture.ts"

/** Before the instants in the examples of the contract. */
const clockStartMs = Date.parse("2029-06-01T00:00:00Z")

const withTable = (use: (table: CallTable) => Promise<void>): Promise<void> =>
  withService({ clockStartMs }, async ({ url }) => use(await CallTable.over({ url, hasManualClock: true })))

for (const way of ["header", "session"] satisfies ReadonlyArray<KeyWay>) {
  test(`no call changes anything with a key that is missing or not right, by ${way}, and each says why`, () =>
    withTable(async (table) => {
      const before = await table.state()
      for (const kind of keyKinds.filter((one) => one !== "right")) {
        for (const call of table.calls) {
          const answer = await table.send(kind, call, way)
          const verdict = verdictOf(answer)
          expect([kind, call.path, verdict]).toEqual([kind, call.path, expectedVerdict(kind, call)])
          if (answer.status === 401) expect(answer.headers.get("www-authenticate")).toStartWith("Bearer")
          if (verdict === "letIn" && kind === "otherNamespace") {
            expect([call.path, JSON.stringify(answer.json)]).not.toContain(tableNamespace)
          }
        }
      }
      expect(await table.state()).toEqual(before)
    }))

  test(`every call lets a key in that may do this alone, by ${way}`, () =>
    withTable(async (table) => {
      const before = await table.state()
      for (const call of table.calls) {
        expect([call.path, verdictOf(await table.send("right", call, way))]).toEqual([call.path, "letIn"])
      }
      // The refused calls could have changed all of this.
      const after = await table.state()
      for (const part of ["pending", "namespaces", "keys", "audit"] as const) {
        expect([part, after[part]]).not.toEqual([part, before[part]])
      }
    }))
}

test("only calls that take a key in their body, or end a session, need no key", () => {
  expect(callsWithoutKey).toEqual(["keys/revokeLeaked", "sessions/create", "sessions/end"])
})
