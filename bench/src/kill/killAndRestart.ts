// The process that delivers is ended by kill -9 while timers are due, and started again at once on the same data. What was
// due is joined with what both processes wrote down: how late each came, what never came, what came twice.
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import type { Due } from "../peers/works.ts"
import type { ChildTerms } from "./deliverToFile.ts"

export interface KillTerms {
  readonly perSecond: number
  /** How long timers have been due when the kill comes. */
  readonly beforeSeconds: number
  /** How long after it deliveries are counted. */
  readonly windowSeconds: number
  /** How long before the first is due the process is started, at least. */
  readonly leastLeadMs: number
}

export interface Killed {
  /**
   * Of all that was due from the kill on, or had been before and was not delivered. What was not delivered by the end
   * counts with the time that had passed by then, so that it is not late by less than what came.
   */
  readonly latenessMs: ReadonlyArray<number>
  /** Of these, the ones that did not come at all. */
  readonly undelivered: number
  /** Deliveries beyond the first of their timer. */
  readonly repeated: number
}

/** The last of the window's timers are due this share of it after the kill, and so have time to come. */
const dueShare = 5 / 6

/**
 * `command` is the script and what it is told before its terms. Nothing, if the system did not take the timers in before
 * the first was due, at so many milliseconds for each.
 */
export const killAndRestart = async (
  command: ReadonlyArray<string>,
  terms: KillTerms,
  leadMsEach: number,
): Promise<Killed | undefined> => {
  const seconds = terms.beforeSeconds + terms.windowSeconds * dueShare
  const timers = Math.round(terms.perSecond * seconds)
  using folder = new TemporaryFolder()
  const file = (name: string) => join(folder.path, name)
  const firstDueMs = Date.now() + terms.leastLeadMs + timers * leadMsEach
  const due = Array.from({ length: timers }, (_, index) => ({
    id: randomUUID(),
    dueAtMs: Math.floor(firstDueMs + (index * 1_000) / terms.perSecond),
  }))
  writeFileSync(file("schedule"), JSON.stringify(due))
  await using first = new Child(command, { deliveries: file("first"), schedule: file("schedule") })
  if (!(await first.hasCreatedBefore(firstDueMs))) return undefined
  await first.runsUntil(firstDueMs + terms.beforeSeconds * 1_000)
  const killedAtMs = Date.now()
  await first.kill9()
  await using second = new Child(command, { deliveries: file("second") })
  const endMs = killedAtMs + terms.windowSeconds * 1_000
  await second.runsUntil(endMs)
  await second.kill9()
  return joined(due, deliveriesIn(file("first")), deliveriesIn(file("second")), killedAtMs, endMs)
}

interface Delivered {
  readonly id: string
  readonly atMs: number
}

const deliveriesIn = (file: string): ReadonlyArray<Delivered> =>
  (existsSync(file) ? readFileSync(file, "utf8") : "").split("\n").flatMap((line) => {
    const [id = "", at = ""] = line.split(" ")
    return at === "" ? [] : [{ id, atMs: Number(at) }]
  })

/** What was due beside what came; it reads nothing. */
export const joined = (
  due: ReadonlyArray<Due>,
  first: ReadonlyArray<Delivered>,
  second: ReadonlyArray<Delivered>,
  killedAtMs: number,
  endMs: number,
): Killed => {
  const counted = [...first, ...second].filter(({ atMs }) => atMs <= endMs)
  const firstAtMs = new Map<string, number>()
  for (const { id, atMs } of counted) firstAtMs.set(id, Math.min(atMs, firstAtMs.get(id) ?? atMs))
  const after = due.filter(({ id, dueAtMs }) => {
    const atMs = firstAtMs.get(id)
    return dueAtMs >= killedAtMs || atMs === undefined || atMs > killedAtMs
  })
  return {
    latenessMs: after.map(({ id, dueAtMs }) => (firstAtMs.get(id) ?? endMs) - dueAtMs),
    undelivered: after.filter(({ id }) => !firstAtMs.has(id)).length,
    repeated: counted.length - firstAtMs.size,
  }
}

const wordsKept = 500

/** One run of the process. */
class Child implements AsyncDisposable {
  readonly #process: Bun.Subprocess<"ignore", "pipe", "pipe">
  readonly #words: Promise<string>

  constructor(command: ReadonlyArray<string>, terms: ChildTerms) {
    this.#process = Bun.spawn([process.execPath, ...command, JSON.stringify(terms)], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    })
    this.#words = new Response(this.#process.stderr).text()
  }

  /** Fails if it ends by itself before. */
  async hasCreatedBefore(atMs: number): Promise<boolean> {
    const saying = this.#process.stdout.getReader()
    const said = saying.read().then(async ({ done }) => {
      if (done) throw await this.#ended()
      return true
    })
    try {
      return await Promise.race([said, Bun.sleep(Math.max(0, atMs - Date.now())).then(() => false)])
    } finally {
      saying.releaseLock()
    }
  }

  /** Fails if it ends by itself before. */
  async runsUntil(atMs: number): Promise<void> {
    while (Date.now() < atMs) {
      await Promise.race([Bun.sleep(Math.min(1_000, atMs - Date.now())), this.#process.exited])
      if (this.#process.exitCode !== null) throw await this.#ended()
    }
  }

  async kill9(): Promise<void> {
    this.#process.kill("SIGKILL")
    await this.#process.exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9()
  }

  async #ended(): Promise<Error> {
    const words = (await this.#words).trim()
    const message = /^(?:\w*[Ee]rror): .*$/m.exec(words)?.[0] ?? words
    return new Error(`it ended by itself: ${message.slice(-wordsKept)}`)
  }
}
