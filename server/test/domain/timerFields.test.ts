// Every place that names fields one by one knows all fields of the tables. A timer and a life with all fields come back
// the same. testkit/TimerStoreFields.suite.ts checks the stores.
import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { finishedFields, pendingFields } from "../../src/domain/timerFields.ts"
import { finishedJson, pendingJson } from "../../src/http/TimerJson.ts"
import { itemLine, readLine } from "../../src/maintenance/ArchiveLine.ts"
import {
  decodeWriteCall,
  decodeWriteReply,
  encodeWriteCall,
  encodeWriteReply,
} from "../../src/peers/http/peerWire.ts"
import { PackReader, PackWriter } from "../../src/stores/sqlite/Pack.ts"
import { readLife, readTimer, writeLife, writeTimer } from "../../src/stores/sqlite/timerWire.ts"
import { allAdded, changeOf, fullLife, fullTimer, putOf, sampleTimer } from "../../testkit/timers.ts"

const timer = fullTimer("full")
const life = fullLife("full")

test("each field and each column occurs once in a table", () => {
  for (const fields of [pendingFields, finishedFields]) {
    expect(new Set(fields.map(({ name }) => name)).size).toBe(fields.length)
    expect(new Set(fields.map(({ column }) => column)).size).toBe(fields.length)
  }
})

describe("every field comes back", () => {
  test("from a pack between threads", () => {
    const out = new PackWriter()
    writeTimer(out, timer)
    writeLife(out, life)
    writeTimer(out, sampleTimer({ timerId: "plain", fireId: timer.fireId }))
    const input = new PackReader(out.finish())
    expect(readTimer(input)).toEqual(timer)
    expect(readLife(input)).toEqual(life)
    expect(readTimer(input)).toEqual(sampleTimer({ timerId: "plain", fireId: timer.fireId }))
    expect(input.isAtEnd).toBe(true)
  })

  test("from the line of an archive", () => {
    for (const item of [{ kind: "pending", timer } as const, { kind: "ended", life } as const]) {
      expect(readLine(itemLine(item))).toEqual(Result.succeed({ kind: "item", item }))
    }
  })

  test("from another node", async () => {
    const items = [putOf(timer), changeOf(timer, allAdded())]
    const call = new TextEncoder().encode(encodeWriteCall(items))
    expect(await Effect.runPromise(decodeWriteCall(call))).toEqual(Result.succeed(items))
    const { payload: _, ...bare } = life
    const answers = [
      { kind: "answered", answer: { result: "created", timer } } as const,
      { kind: "answered", answer: { result: "alreadyFinished", life: bare } } as const,
    ]
    expect(Effect.runSync(decodeWriteReply(encodeWriteReply(answers), items))).toEqual(
      Result.succeed(answers),
    )
  })
})

/** Fields that callers do not see, or see under another name. */
const notShown = ["firstAttemptAt", "askedAt", "endedBy"]

test("the API's JSON has every field except those of the service itself", () => {
  const shownOf = (json: string) => Object.keys(JSON.parse(json))
  const shown = shownOf(pendingJson({ state: "pending", timer: timer }, true))
  for (const { name } of pendingFields)
    expect([name, shown.includes(name)]).toEqual([name, !notShown.includes(name)])
  const ended = shownOf(finishedJson(life, "dead", true))
  for (const { name } of finishedFields)
    expect([name, ended.includes(name)]).toEqual([name, !notShown.includes(name)])
})
