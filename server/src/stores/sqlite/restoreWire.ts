// What is to be restored, as a pack on its way to the writer's thread.
import type { ArchivedItem } from "../../domain/decideRestore.ts"
import type { RestoreBatch } from "../../ports/TimerArchive.ts"
import { type Pack, PackReader, PackWriter } from "./Pack.ts"
import { readLife, readTimer, writeLife, writeTimer } from "./timerWire.ts"

export const packRestores = (batches: ReadonlyArray<RestoreBatch>): Pack => {
  const out = new PackWriter()
  for (const { shard, epoch, items } of batches) {
    out.field(shard)
    out.field(epoch)
    out.field(items.length)
    for (const item of items) {
      out.field(item.kind)
      if (item.kind === "pending") writeTimer(out, item.timer)
      else writeLife(out, item.life)
    }
  }
  return out.finish()
}

export const unpackRestores = (pack: Pack): ReadonlyArray<RestoreBatch> => {
  const input = new PackReader(pack)
  const batches: Array<RestoreBatch> = []
  while (!input.isAtEnd) {
    const [shard, epoch, count] = [input.number(), input.number(), input.number()]
    batches.push({ shard, epoch, items: Array.from({ length: count }, () => readItem(input)) })
  }
  return batches
}

const readItem = (input: PackReader): ArchivedItem =>
  input.text() === "pending"
    ? { kind: "pending", timer: readTimer(input) }
    : { kind: "ended", life: readLife(input) }
