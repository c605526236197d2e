// One system, one piece of work, in a process of its own: `bun main.mjs SYSTEM PLACE '{"work":"creates","timers":20000,…}'`.
// The result is one line of JSON on stdout.
import { randomUUID } from "node:crypto"
import { payload } from "./setting.mjs"
import { systems } from "./systems.mjs"

const [name, place, text] = process.argv.slice(2)
const open = systems[name]
if (open === undefined || place === undefined || text === undefined) {
  process.stderr.write("usage: main.mjs SYSTEM PLACE WORK\n")
  process.exit(2)
}

const hourMs = 3_600_000
const farAhead = () => Date.now() + 24 * hourMs + Math.floor(Math.random() * 24 * hourMs)
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)))

const inBatches = async (timers, batch, use) => {
  for (let at = 0; at < timers.length; at += batch) await use(timers.slice(at, at + batch))
}

const until = async (isDone, withinMs, what) => {
  const deadline = Date.now() + withinMs
  while (!isDone()) {
    if (Date.now() > deadline) throw new Error(`${what} took longer than ${withinMs / 1_000} s`)
    await sleep(2)
  }
}

/** Single creates by so many callers at once. */
const creates = async (system, { timers, callers }) => {
  let left = timers
  const startedAt = performance.now()
  const caller = async () => {
    while (left-- > 0) await system.add(randomUUID(), farAhead(), payload)
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return { perSecond: (timers / (performance.now() - startedAt)) * 1_000 }
}

/** Many due at once, until the last was handled. */
const burst = async (system, { timers, leadMs }) => {
  const lateness = []
  await system.start((id) => lateness.push(Date.now() - (dueOf.get(id) ?? 0)))
  const dueAtMs = Date.now() + leadMs
  const dueOf = new Map()
  const all = Array.from({ length: timers }, () => ({ id: randomUUID(), dueAtMs }))
  for (const { id } of all) dueOf.set(id, dueAtMs)
  await inBatches(all, 1_000, (some) => system.addMany(some, payload))
  if (Date.now() > dueAtMs) throw new Error("not all could be created before they were due")
  await sleep(dueAtMs - Date.now())
  await until(() => lateness.length >= timers, 300_000, "the burst")
  return { perSecond: (timers / (Date.now() - dueAtMs)) * 1_000, latenessMs: lateness }
}

/** So many a second, evenly, with so many others pending. */
const paced = async (system, { perSecond, seconds, pending, leadMs }) => {
  const others = Array.from({ length: pending }, () => ({ id: randomUUID(), dueAtMs: farAhead() }))
  await inBatches(others, 1_000, (some) => system.addMany(some, payload))
  const dueOf = new Map()
  const lateness = []
  await system.start((id) => lateness.push(Date.now() - (dueOf.get(id) ?? 0)))
  const timers = perSecond * seconds
  const firstMs = Date.now() + leadMs
  const all = Array.from({ length: timers }, (_, index) => ({
    id: randomUUID(),
    dueAtMs: firstMs + Math.floor((index / perSecond) * 1_000),
  }))
  for (const { id, dueAtMs } of all) dueOf.set(id, dueAtMs)
  await inBatches(all, 1_000, (some) => system.addMany(some, payload))
  if (Date.now() > firstMs) throw new Error("not all could be created before the first was due")
  await until(() => lateness.length >= timers, leadMs + seconds * 1_000 + 120_000, "firing")
  return { latenessMs: lateness }
}

const works = { creates, burst, paced }
const { work, ...terms } = JSON.parse(text)
const system = await open(place)
await system.ready()
const result = await works[work](system, terms)
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
