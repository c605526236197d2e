// `punctual dlq`: what operators see of dead letters, on a real bus, and how it answers when it is called wrongly.
import { describe, expect, test } from "bun:test"
import { type DeadLetterFacts, decodeDeadLetter, encodeDeadLetter } from "@punctual/api/DeadLetter"
import { Effect, Result } from "effect"
import { allBuses } from "../../../src/buses/all.ts"
import { BusError, type DeadLetterEntry, type DeadLetters } from "../../../src/ports/Bus.ts"
import { openDeadLetters } from "../../../src/storeKeeping.ts"
import { allStores } from "../../../src/stores/all.ts"
import { deadLetterRig, runDlq } from "./DlqFixture.ts"

const notOpened: Effect.Effect<DeadLetters> = Effect.die(new Error("the dead letters were opened"))

/** A letter that no bus of a test would make, as it is read from its record. */
const entryOf = (facts: Partial<DeadLetterFacts>, original: Uint8Array): DeadLetterEntry => {
  const failure = { at: 0, error: "e" }
  const all = { reason: "malformed" as const, deliveries: 1, firstFailure: failure, lastFailure: failure }
  const opened = decodeDeadLetter(encodeDeadLetter({ ...all, ...facts }, original))
  return { id: "1", tenant: "billing", diedAt: 0, ...Result.getOrThrow(opened) }
}

const holding = (deadLetters: DeadLetters, entry: DeadLetterEntry): DeadLetters => ({
  ...deadLetters,
  list: () => Effect.succeed({ entries: [entry] }),
  find: () => Effect.succeed(entry),
})

describe("dlq list", () => {
  test("is a table, oldest first, of one tenant", async () => {
    await using rig = await deadLetterRig()
    await rig.send({ serviceCallId: "invoice-1" }, { tenant: "other", serviceCallId: "theirs" })
    await rig.send({ serviceCallId: "a-longer-one" })
    const { exitCode, out, err } = await rig.run("list", "--tenant", "billing")
    expect([exitCode, err]).toEqual([0, ""])
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["ID", "DIED AT", "REASON", "DELIVERIES", "TYPE", "SERVICE CALL", "LAST ERROR"],
      ["1", expect.stringMatching(/^2030-/), "refused", "1", "ScheduleTimer", "invoice-1", "no such plan"],
      ["3", expect.stringMatching(/^2030-/), "refused", "1", "ScheduleTimer", "a-longer-one", "no such plan"],
      [""],
    ])
    const starts = out
      .split("\n")
      .flatMap((line) => /(SERVICE CALL|invoice-1|a-longer)/.exec(line)?.index ?? [])
    expect(new Set(starts).size).toBe(1)
  })

  test("says that there are none, and that is no failure", async () => {
    await using rig = await deadLetterRig()
    await rig.send({ tenant: "other" })
    expect(await rig.run("list", "--tenant", "billing")).toEqual({
      exitCode: 0,
      out: "No dead letters for tenant billing.\n",
      err: "",
    })
  })

  test("says when there are more, and how to go on", async () => {
    await using rig = await deadLetterRig()
    await rig.send({}, {}, {})
    const first = await rig.run("list", "--tenant", "billing", "--limit", "2")
    expect(first.out.split("\n").map((line) => line[0])).toEqual(["I", "1", "2", undefined])
    const [, again = ""] = /^There are more\. Go on with: punctual dlq (.*)\n$/.exec(first.err) ?? []
    const second = await rig.run(...again.split(" "))
    expect(second.out.split("\n").map((line) => line[0])).toEqual(["I", "3", undefined])
    expect(second.err).toBe("")
  })

  test("fits the terminal by cutting the error, and cuts nothing on its way to a file", async () => {
    await using rig = await deadLetterRig()
    const lastFailure = { at: 0, error: "漢字 ".repeat(100) }
    const letters = Effect.succeed(holding(rig.deadLetters, entryOf({ lastFailure }, new Uint8Array())))
    const args = ["list", "--tenant", "billing"]
    const onTerminal = await runDlq(args, letters, { columns: 120 })
    const [, line = ""] = onTerminal.out.split("\n")
    expect(line).toEndWith("…")
    const wide = line.match(/[漢字]/g)?.length ?? 0
    expect(line.length + wide).toBeLessThan(120)
    expect(line.length + wide).toBeGreaterThan(115)
    expect((await runDlq(args, letters)).out).toContain(lastFailure.error)
  })

  test("as JSON is one object: the letters, without their messages, and where to go on", async () => {
    await using rig = await deadLetterRig()
    await rig.send({}, { serviceCallId: "invoice-2" })
    const listed = async (...args: ReadonlyArray<string>) =>
      JSON.parse((await rig.run("list", "--tenant", "billing", "--json", ...args)).out)
    const first = await listed("--limit", "1")
    expect(first).toEqual({
      letters: [
        {
          id: "1",
          tenant: "billing",
          diedAt: expect.stringMatching(/^2030-01-01T00:00:00\.\d{3}Z$/),
          reason: "refused",
          deliveries: 1,
          type: "ScheduleTimer",
          serviceCallId: "invoice-1",
          firstFailure: { at: expect.any(String), error: "no such plan" },
          lastFailure: { at: expect.any(String), error: "no such plan" },
          messageBytes: expect.any(Number),
        },
      ],
      nextCursor: "1",
    })
    const second = await listed("--cursor", first.nextCursor)
    expect(second.letters.map(({ serviceCallId }: { serviceCallId: string }) => serviceCallId)).toEqual([
      "invoice-2",
    ])
    expect(second).not.toHaveProperty("nextCursor")
    expect(await listed("--cursor", "9")).toEqual({ letters: [] })
  })
})

describe("dlq show", () => {
  test("tells all of it, and shows the message as it came, one member a line", async () => {
    await using rig = await deadLetterRig()
    await rig.send({ payloadJson: '{ "n":12345678901234567890, "n":1e2 }' })
    const { exitCode, out } = await rig.run("show", "--tenant", "billing", "1")
    expect(exitCode).toBe(0)
    expect(out).toMatch(/^id +1\ntenant +billing\ndied at +2030-.*\nreason +refused: .*\ndeliveries +1\n/)
    expect(out).toMatch(/\nlast failure +2030-\S+ +no such plan\n/)
    expect(out).toMatch(/\nservice call +invoice-1\n/)
    expect(out).toContain('\n  "payload": {\n    "n": 12345678901234567890,\n    "n": 1e2\n  }\n}\n')
  })

  test("shows what is no JSON as base64 and as text", async () => {
    await using rig = await deadLetterRig()
    await rig.send({ payloadJson: "hello" })
    const { out } = await rig.run("show", "--tenant", "billing", "1")
    expect(out).toContain("reason         malformed")
    const [, base64 = "", text] = /not JSON\), as base64:\n(.*)\n\nand as text:\n(.*)\n$/s.exec(out) ?? []
    expect(text).toEndWith('"payload":hello}')
    expect(Buffer.from(base64, "base64").toString()).toBe(text ?? "")
    expect(Math.max(...base64.split("\n").map((line) => line.length))).toBe(76)
  })

  test("as JSON is the dead letter's record with its id: the envelope as it came, or base64", async () => {
    await using rig = await deadLetterRig()
    await rig.send({ payloadJson: '{"n":12345678901234567890}' }, { payloadJson: "hello" })
    const sound = (await rig.run("show", "--tenant", "billing", "--json", "1")).out
    expect(JSON.parse(sound)).toMatchObject({ id: "1", tenant: "billing", reason: "refused", deliveries: 1 })
    expect(sound).toContain('"n": 12345678901234567890')
    const { raw } = JSON.parse((await rig.run("show", "--tenant", "billing", "--json", "2")).out)
    expect(atob(raw)).toEndWith('"payload":hello}')
  })

  test("says when a message was too large to be kept whole", async () => {
    await using rig = await deadLetterRig()
    const entry = entryOf({ isCut: true }, new TextEncoder().encode('{"whole":"looking"}'))
    const { out } = await rig.runOn(holding(rig.deadLetters, entry), "show", "--tenant", "billing", "1")
    expect(out).toContain("too large to be kept whole")
    expect(out).toContain('and as text:\n{"whole":"looking"}\n')
  })

  test("of a letter that is not there, or another tenant's, fails and says so", async () => {
    await using rig = await deadLetterRig()
    await rig.send({})
    for (const [tenant, id] of [
      ["billing", "2"],
      ["other", "1"],
    ] as const) {
      expect(await rig.run("show", "--tenant", tenant, id)).toEqual({
        exitCode: 1,
        out: "",
        err: `punctual dlq show: there is no dead letter ${id} for tenant ${tenant}.\n`,
      })
    }
  })

  test("nothing in a message or an error reaches the terminal as a command to it", async () => {
    await using rig = await deadLetterRig()
    const hostile = "\u001b[2J\u0007\u009b31m\u202egpj\u2028\r\n\ud800 \u{e0001}"
    const failure = { at: 0, error: hostile }
    const facts = { firstFailure: failure, lastFailure: failure }
    const soundJson = JSON.stringify({ text: `\u007f\u0085${hostile}` })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
    const commands = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\ud800-\udfff]/
    for (const original of [hostile, soundJson]) {
      const entry = entryOf(facts, new TextEncoder().encode(original))
      const letters = holding(rig.deadLetters, entry)
      for (const args of [["list"], ["show", "1"], ["list", "--json"], ["show", "1", "--json"]]) {
        const { exitCode, out } = await rig.runOn(letters, ...args, "--tenant", "billing")
        expect(exitCode).toBe(0)
        expect(out).not.toMatch(commands)
        if (args.includes("--json")) expect(out).toContain("\\u001b[2J")
        if (args[0] === "list" && args.length === 1) expect(out.split("\n").length).toBe(3)
      }
    }
    const shown = await rig.run("show", "--tenant", "billing", "--", hostile)
    expect(shown.err).not.toMatch(commands)
  })
})

describe("dlq called wrongly", () => {
  const wrong: Record<string, ReadonlyArray<string>> = {
    "no sub-command": [],
    "an unknown one": ["lst"],
    "no tenant": ["list"],
    "a tenant that cannot be": ["list", "--tenant", "a b"],
    "a reserved tenant": ["list", "--tenant", "_internal"],
    "an unknown flag": ["list", "--tenant", "t", "--alll"],
    "a limit of nothing": ["list", "--tenant", "t", "--limit", "0"],
    "a limit beyond a page": ["list", "--tenant", "t", "--limit", "1001"],
    "a limit that is no number": ["list", "--tenant", "t", "--limit", "many"],
    "an argument too many": ["list", "--tenant", "t", "1"],
    "nothing to show": ["show", "--tenant", "t"],
    "neither ids nor --all": ["replay", "--tenant", "t"],
    "both ids and --all": ["replay", "--tenant", "t", "--all", "1"],
    "discard --all without --yes": ["discard", "--tenant", "t", "--all"],
  }
  for (const [what, args] of Object.entries(wrong)) {
    test(`${what}: exit code 2, said on stderr, and the broker is not asked`, async () => {
      const { exitCode, out, err } = await runDlq(args, notOpened)
      expect([exitCode, out]).toEqual([2, ""])
      expect(err).toMatch(
        args.length === 0 ? /SUBCOMMANDS/ : /^punctual dlq.*: .+ See punctual dlq.* --help\.\n$/,
      )
    })
  }

  test("says what was meant, what is missing, and what --yes is for", async () => {
    const errOf = async (...args: ReadonlyArray<string>) => (await runDlq(args, notOpened)).err
    expect(await errOf("lst")).toContain("Did you mean list?")
    expect(await errOf("list")).toContain("--tenant")
    expect(await errOf("discard", "--tenant", "t", "--all")).toContain("add --yes")
  })
})

describe("dlq", () => {
  test("helps without a broker, on stdout", async () => {
    for (const args of [[], ["list"], ["show"], ["replay"], ["discard"]]) {
      const { exitCode, out, err } = await runDlq([...args, "--help"], notOpened)
      expect([exitCode, err]).toEqual([0, ""])
      expect(out).toContain(["punctual dlq", ...args].join(" "))
    }
  })

  test("a broker that is away is told of in one line", async () => {
    const away = Effect.fail(new BusError({ message: "no broker at nats://h:4222: start one." }))
    for (const args of [["list"], ["show", "1"], ["replay", "1"], ["discard", "--all", "--yes"]]) {
      expect(await runDlq([...args, "--tenant", "_unknown"], away)).toEqual({
        exitCode: 1,
        out: "",
        err: `punctual dlq ${args[0]}: no broker at nats://h:4222: start one.\n`,
      })
    }
  })

  test("the dead letters of a local bus are out of reach, and it says what to set", async () => {
    const local = openDeadLetters({
      environment: {},
      adapters: { stores: allStores, buses: allBuses },
      installDriver: () => Effect.void,
    })
    const { exitCode, err } = await runDlq(["list", "--tenant", "billing"], local)
    expect(exitCode).toBe(1)
    expect(err).toMatch(
      /^punctual dlq list: the local bus keeps its dead letters in the service's memory.*TIMER_BROKER_URL/,
    )
  })
})
