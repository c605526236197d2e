import { expect, test } from "bun:test"
import type { KafkaOutgoing } from "../../src/kafka/KafkaProducer.ts"
import { PartitionSlot, retryHeaders } from "../../src/kafka/PartitionSlot.ts"
import type { KafkaRecordIn } from "../../src/kafka/partitionReads.ts"

const record = (offset: number, key = "a"): KafkaRecordIn => ({
  offset,
  timestampMs: 1,
  key: Buffer.from(key),
  value: Buffer.from(`${offset}`),
  headers: [],
})

/** A slot whose first commit is stored, and what it writes to the topic of retries. */
const slotOver = (note = "") => {
  const written: Array<KafkaOutgoing> = []
  const gate = Promise.withResolvers<void>()
  const producer = {
    send: async (records: ReadonlyArray<KafkaOutgoing>) => {
      await gate.promise
      return records.map((one) => BigInt(written.push(one) - 1))
    },
  }
  const slot = new PartitionSlot(
    { main: { offset: 10, note }, retries: { offset: 0, note: "" } },
    {
      partition: 0,
      retryTopic: "retries",
      producer,
      onChange: () => {},
      log: () => {},
    },
  )
  slot.commit(true).stored()
  const state = (index: number) =>
    [retryHeaders.origin, retryHeaders.deliveries, retryHeaders.begun].map((name) =>
      String(written[index]?.headers[name]),
    )
  return { slot, written, state, openBroker: gate.resolve }
}

const offsetsOf = (slot: PartitionSlot) => {
  const { main, retries } = slot.commit(true)
  return [main.offset, retries.offset]
}

test("a message that failed is done in its topic when the other one has it, never before", async () => {
  const { slot, state, openBroker } = slotOver()
  expect(slot.mustHandle(record(10))).toBe(true)
  slot.comeBack(record(10), undefined, 5_000)
  await Promise.resolve()
  expect(offsetsOf(slot)).toEqual([10, 0])
  openBroker()
  await slot.settled()
  expect(offsetsOf(slot)).toEqual([11, 0])
  expect(state(0)).toEqual(["10-1", "1", "false"])
})

test("later messages of a key follow it, and those of other keys are handled", async () => {
  const { slot, state, openBroker } = slotOver()
  expect(slot.mustHandle(record(10))).toBe(true)
  slot.comeBack(record(10), undefined, 5_000)
  // The first one is still on its way.
  expect(slot.mustHandle(record(11))).toBe(false)
  expect(slot.mustHandle(record(12, "b"))).toBe(true)
  openBroker()
  await slot.settled()
  expect(slot.mustHandle(record(13))).toBe(false)
  await slot.settled()
  expect([state(1), state(2)]).toEqual([
    ["11-1", "0", "false"],
    ["13-1", "0", "false"],
  ])
  // The other key is not done yet.
  expect(offsetsOf(slot)).toEqual([12, 0])
  expect(slot.queue.takeDue(4_999, true)).toBeUndefined()
  expect(slot.queue.takeDue(5_000, true)?.origin).toBe("10-1")
})

test("a message that waits in the topic of retries is skipped in its own", async () => {
  const { slot, openBroker } = slotOver()
  openBroker()
  slot.mustHandle(record(10))
  slot.comeBack(record(10), undefined, 5_000)
  await slot.settled()
  expect(slot.mustHandle(record(10))).toBe(false)
  await slot.settled()
  expect(slot.queue.takeDue(5_000, true)?.deliveries).toBe(1)
})

test("a record waits until the broker knows that it is taken", () => {
  const { slot } = slotOver()
  slot.buffer.push(record(10), record(521), record(522))
  expect([slot.next()?.offset, slot.next()?.offset, slot.next()?.offset]).toEqual([10, 521, undefined])
  expect(slot.isDirty).toBe(true)
  slot.mustHandle(record(10))
  slot.mustHandle(record(521))
  slot.commit(true).stored()
  expect(slot.next()?.offset).toBe(522)
})

test("messages that a member took before it ended count as delivered once, unless they are done", async () => {
  const before = slotOver()
  for (const offset of [10, 11, 12]) before.slot.mustHandle(record(offset, `key-${offset}`))
  before.slot.done(record(11, "key-11"), undefined)
  const { main } = before.slot.commit(true)
  const { slot, state, openBroker } = slotOver(main.note)
  openBroker()
  for (const offset of [10, 11, 12]) expect(slot.mustHandle(record(offset, `key-${offset}`))).toBe(false)
  expect(slot.mustHandle(record(600, "key-600"))).toBe(true)
  await slot.settled()
  expect([state(0), state(1)]).toEqual([
    ["10-1", "1", "true"],
    ["12-1", "1", "true"],
  ])
})

test("messages that a member gave back in good order do not count", async () => {
  const before = slotOver()
  before.openBroker()
  before.slot.mustHandle(record(10))
  before.slot.leave()
  before.slot.comeBack(record(10), undefined, undefined)
  await before.slot.settled()
  expect(before.slot.isDirty).toBe(true)
  const { main } = before.slot.commit(true)
  expect(main.offset).toBe(10)
  expect(slotOver(main.note).slot.mustHandle(record(10))).toBe(true)
})

test("a copy that is given back in good order has its old number of deliveries", async () => {
  const { slot, state, openBroker } = slotOver()
  openBroker()
  slot.mustHandle(record(10))
  slot.comeBack(record(10), undefined, 5_000)
  await slot.settled()
  const entry = slot.queue.takeDue(5_000, true)
  if (entry === undefined) throw new Error("nothing is due")
  slot.deliver(record(0), entry, (counted) => slot.comeBack(record(1), counted, undefined))
  await slot.settled()
  expect([state(1), state(2)]).toEqual([
    ["10-1", "2", "true"],
    ["10-1", "1", "false"],
  ])
})

test("a slot that is lost stores nothing more", async () => {
  const { slot, written, openBroker } = slotOver()
  slot.mustHandle(record(10))
  slot.lose()
  slot.comeBack(record(10), undefined, 5_000)
  slot.done(record(10), undefined)
  openBroker()
  await slot.settled()
  expect(written).toEqual([])
  expect(offsetsOf(slot)).toEqual([10, 0])
})
