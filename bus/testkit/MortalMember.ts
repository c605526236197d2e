// A message that ends the process of every member that handles it. It must become undeliverable after its deliveries, and
// must not take other messages with it.
import { expect } from "bun:test"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Effect, Logger } from "effect"
import { Bus } from "../src/Bus.ts"
import type { OutgoingEnvelope } from "../src/Envelope.ts"
import { UndeliverableMessages } from "../src/UndeliverableMessages.ts"
import { sampleMessage } from "./BusFixture.ts"
import { publishUntilTaken, until } from "./busFaults.ts"
import { type MemberOptions, memberLayer } from "./mortalMemberMain.ts"

/** One run of the process. */
class MortalMember {
  readonly #child: ChildProcess
  readonly #exit: Promise<unknown>
  #output = ""

  constructor(member: MemberOptions) {
    const main = fileURLToPath(new URL("./mortalMemberMain.ts", import.meta.url))
    this.#child = spawn(process.execPath, [main, JSON.stringify(member)], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    this.#exit = once(this.#child, "exit")
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.#output += chunk.toString()
    })
    running.add(this)
  }

  get handledIds(): ReadonlyArray<string> {
    return this.#output.split("\n").slice(0, -1)
  }

  get hasFallen(): boolean {
    return this.#child.signalCode !== null
  }

  async end(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#exit
    running.delete(this)
  }
}

const running = new Set<MortalMember>()

process.once("exit", () => {
  for (const member of running) void member.end()
})

/**
 * `others`: whether other messages are there from the beginning. At most brokers, each end of the process counts for all
 * messages that it had.
 */
export const poisonRun = (
  member: MemberOptions,
  { others }: { readonly others: "beside" | "later" },
): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const bus = yield* Bus
      const kept = yield* UndeliverableMessages
      const handled = new Set<string>()
      let current = new MortalMember(member)
      yield* Effect.addFinalizer(() => Effect.promise(() => current.end()))
      const untilHandled = (messages: ReadonlyArray<OutgoingEnvelope>) =>
        until("they are handled", () => {
          for (const id of current.handledIds) handled.add(id)
          return messages.every(({ id }) => handled.has(id))
        })
      // Some brokers keep messages only for groups that exist.
      const first = sampleMessage({ key: "first" })
      yield* publishUntilTaken(bus, [first], () => {})
      yield* untilHandled([first])
      const poison = sampleMessage({ payloadJson: '{"kills":true}' })
      const rest = [
        sampleMessage(),
        ...Array.from({ length: 20 }, (_, key) => sampleMessage({ key: `${key}` })),
      ]
      yield* bus.publish(others === "beside" ? [poison, ...rest] : [poison])
      const stored = Effect.map(kept.list("acme", { limit: 10 }), ({ messages }) =>
        messages.map(({ record, original }) => ({
          reason: record.reason,
          // The test published nothing but envelopes.
          id: (JSON.parse(Buffer.from(original).toString()) as { readonly id: string }).id,
        })),
      )
      let falls = 0
      while ((yield* stored).length === 0) {
        for (const id of current.handledIds) handled.add(id)
        if (current.hasFallen) {
          falls++
          yield* Effect.promise(() => current.end())
          current = new MortalMember(member)
        }
        yield* Effect.sleep(20)
      }
      expect(falls).toBe(5)
      if (others === "later") yield* bus.publish(rest)
      yield* untilHandled(rest)
      expect(yield* stored).toEqual([{ id: poison.id, reason: "deliveriesExhausted" }])
    }).pipe(Effect.scoped, Effect.provide(memberLayer(member)), Effect.provide(Logger.layer([]))),
  )
