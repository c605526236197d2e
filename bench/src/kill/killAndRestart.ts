// Ends the delivering process with kill -9 while timers are due, and starts it again at once on the same data. Then it
// compares the schedule with the records of both processes: how late each timer was, which never came, which came twice.
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import type { Due } from "../peers/works.ts"
import type { ChildTerms } from "./deliverToFile.ts"

export interface KillTerms {
  readonly perSecond: number
  /** How long timers have been firing before the kill. */
  readonly beforeSeconds: number
  /** How long deliveries count after the kill. */
  readonly windowSeconds: number
  /** The minimum time between the start of the process and the first due timer. */
  readonly leastLeadMs: number
}

export interface Killed {
  /**
   * The lateness of all timers that were due after the kill, or due before it and not delivered yet. A timer that was not
   * delivered by the end counts with the time that had passed by then, so it never looks better than a delivered one.
   */
  readonly latenessMs: ReadonlyArray<number>
  /** How many of these were not delivered at all. */
  readonly undelivered: number
  /** The number of repeated deliveries. */
  readonly repeated: number
}

/** The last timers are due after this share of the window, so they still have time to arrive. */
const dueShare = 5 / 6

/**
 * `command` is the script with its first arguments. The system gets a number of milliseconds to create each timer. If it
 * has not created all of them before the first is due, the result is undefined.
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

/** Compares due timers with deliveries. It reads no files. */
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

  /** Fails if the process ends by itself before that. */
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

  /** Fails if the process ends by itself before that. */
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
    return new Error(`the process ended by itself: ${message.slice(-wordsKept)}`)
  }
}
