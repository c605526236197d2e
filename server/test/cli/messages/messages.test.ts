// `punctual messages`: what operators see of undeliverable messages on a real bus, and how the command answers wrong
// usage.
import { describe, expect, test } from "bun:test"
import { BusError } from "@punctual/bus/Bus"
import {
  decodeUndeliverable,
  encodeUndeliverable,
  type UndeliverableFacts,
} from "@punctual/bus/Undeliverable"
import type { UndeliverableMessage } from "@punctual/bus/UndeliverableMessages"
import { Effect, Result } from "effect"
import { run } from "../CommandFixture.ts"
import { type Kept, messagesRig } from "./MessagesFixture.ts"

/** A message, read from its record, that no bus of a test would produce. */
const entryOf = (facts: Partial<UndeliverableFacts>, original: Uint8Array): UndeliverableMessage => {
  const failure = { at: 0, error: "e" }
  const all = { reason: "malformed" as const, deliveries: 1, firstFailure: failure, lastFailure: failure }
  const opened = decodeUndeliverable(encodeUndeliverable({ ...all, ...facts }, original))
  return { id: "1", tenant: "billing", storedAt: 0, ...Result.getOrThrow(opened) }
}

const holding = (kept: Kept, message: UndeliverableMessage): Kept => ({
  ...kept,
  list: () => Effect.succeed({ messages: [message] }),
  find: () => Effect.succeed(message),
})

const at2030 = expect.stringMatching(/^2030-/)

/** An address where nothing listens. */
const nowhere = { environmentUrl: "http://127.0.0.1:9" }

describe("messages list", () => {
  test("is a table of one namespace, oldest first", async () => {
    await using rig = await messagesRig()
    await rig.send({ serviceCallId: "invoice-1" }, { namespace: "other", serviceCallId: "theirs" })
    await rig.send({ serviceCallId: "a-longer-one" })
    const { exitCode, out, err } = await rig.run("list", "--namespace", "billing")
    expect([exitCode, err]).toEqual([0, ""])
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["NAMESPACE", "ID", "STORED AT", "REASON", "GROUP", "DELIVERIES", "TYPE", "ABOUT", "LAST ERROR"],
      ["billing", "1", at2030, "refused", "punctual", "1", "ScheduleTimer", "invoice-1", "no such plan"],
      ["billing", "3", at2030, "refused", "punctual", "1", "ScheduleTimer", "a-longer-one", "no such plan"],
      [""],
    ])
    const starts = out.split("\n").flatMap((line) => /(ABOUT|invoice-1|a-longer)/.exec(line)?.index ?? [])
    expect(new Set(starts).size).toBe(1)
  })

  test("says that there are none, which is not a failure", async () => {
    await using rig = await messagesRig()
    await rig.send({ namespace: "other" })
    expect(await rig.run("list", "--namespace", "billing")).toEqual({
      exitCode: 0,
      out: "No undeliverable messages of billing.\n",
      err: "",
    })
  })

  test("says when there are more, and how to continue", async () => {
    await using rig = await messagesRig()
    await rig.send({}, {}, {})
    const first = await rig.run("list", "--namespace", "billing", "--limit", "2")
    expect(first.out.split("\n").map((line) => line.split(/ {2,}/)[1])).toEqual(["ID", "1", "2", undefined])
    const [, again = ""] = /^There are more\. Continue with: punctual messages (.*)\n$/.exec(first.err) ?? []
    const second = await rig.run(...again.split(" "))
    expect(second.out.split("\n").map((line) => line.split(/ {2,}/)[1])).toEqual(["ID", "3", undefined])
    expect(second.err).toBe("")
  })

  test("shortens the error to fit the terminal, and shortens nothing when it writes to a file", async () => {
    await using rig = await messagesRig()
    const lastFailure = { at: 0, error: "漢字 ".repeat(100) }
    const letters = holding(rig.kept, entryOf({ lastFailure }, new Uint8Array()))
    const args = ["list", "--namespace", "billing"]
    const onTerminal = await rig.runOn(letters, args, { columns: 140 })
    const [, line = ""] = onTerminal.out.split("\n")
    expect(line).toEndWith("…")
    const wide = line.match(/[漢字]/g)?.length ?? 0
    expect(line.length + wide).toBeLessThan(140)
    expect(line.length + wide).toBeGreaterThan(135)
    expect((await rig.runOn(letters, args)).out).toContain(lastFailure.error)
  })

  test("as JSON is one object: the messages with shortened bodies, and where to continue", async () => {
    await using rig = await messagesRig()
    await rig.send({}, { serviceCallId: "invoice-2" })
    const listed = async (...args: ReadonlyArray<string>) =>
      JSON.parse((await rig.run("list", "--namespace", "billing", "--json", ...args)).out)
    const first = await listed("--limit", "1")
    expect(first).toEqual({
      messages: [
        {
          id: "1",
          namespace: "billing",
          storedAt: expect.stringMatching(/^2030-01-01T00:00:00\.\d{3}Z$/),
          reason: "refused",
          deliveries: 1,
          type: "ScheduleTimer",
          aggregateId: "invoice-1",
          messageId: expect.any(String),
          group: "punctual",
          preview: expect.stringMatching(/^\{"id":.*ScheduleTimer/),
          firstFailure: { at: expect.any(String), error: "no such plan" },
          lastFailure: { at: expect.any(String), error: "no such plan" },
          messageBytes: expect.any(Number),
        },
      ],
      nextCursor: "1",
    })
    const second = await listed("--cursor", first.nextCursor)
    expect(second.messages.map(({ aggregateId }: { aggregateId: string }) => aggregateId)).toEqual([
      "invoice-2",
    ])
    expect(second).not.toHaveProperty("nextCursor")
    expect(await listed("--cursor", "9")).toEqual({ messages: [] })
  })
})

describe("messages show", () => {
  test("shows everything about the message, and the message unchanged, one member a line", async () => {
    await using rig = await messagesRig()
    await rig.send({ payloadJson: '{ "n":12345678901234567890, "n":1e2 }' })
    const { exitCode, out } = await rig.run("show", "--namespace", "billing", "1")
    expect(exitCode).toBe(0)
    expect(out).toMatch(
      /^id +1\nnamespace +billing\nstored at +2030-.*\nreason +refused: .*\ngroup +punctual\ndeliveries +1\n/,
    )
    expect(out).toMatch(/\nlast failure +2030-\S+ +no such plan\n/)
    expect(out).toMatch(/\nabout +invoice-1\n/)
    expect(out).toContain('\n  "payload": {\n    "n": 12345678901234567890,\n    "n": 1e2\n  }\n}\n')
  })

  test("shows a message that is not JSON as base64 and as text", async () => {
    await using rig = await messagesRig()
    await rig.send({ payloadJson: "hello" })
    const { out } = await rig.run("show", "--namespace", "billing", "1")
    expect(out).toContain("reason         malformed")
    const [, base64 = "", text] =
      /could not be read\), as base64:\n(.*)\n\nand as text:\n(.*)\n$/s.exec(out) ?? []
    expect(text).toEndWith('"payload":hello}')
    expect(Buffer.from(base64, "base64").toString()).toBe(text ?? "")
    expect(Math.max(...base64.split("\n").map((line) => line.length))).toBe(76)
  })

  test("as JSON is the answer of the service: the envelope unchanged, or base64", async () => {
    await using rig = await messagesRig()
    await rig.send({ payloadJson: '{"n":12345678901234567890}' }, { payloadJson: "hello" })
    const sound = (await rig.run("show", "--namespace", "billing", "--json", "1")).out
    expect(JSON.parse(sound).message).toMatchObject({
      id: "1",
      namespace: "billing",
      reason: "refused",
      deliveries: 1,
    })
    expect(sound).toContain('"n": 12345678901234567890')
    const { message } = JSON.parse((await rig.run("show", "--namespace", "billing", "--json", "2")).out)
    expect(atob(message.raw)).toEndWith('"payload":hello}')
  })

  test("says when a message was too large to be kept completely", async () => {
    await using rig = await messagesRig()
    const entry = entryOf({ isCut: true }, new TextEncoder().encode('{"whole":"looking"}'))
    const { out } = await rig.runOn(holding(rig.kept, entry), ["show", "--namespace", "billing", "1"])
    expect(out).toContain("too large to keep")
    expect(out).toContain('and as text:\n{"whole":"looking"}\n')
  })

  test("of an unknown message, or of another namespace's message, fails and says so", async () => {
    await using rig = await messagesRig()
    await rig.send({})
    for (const [namespace, id] of [
      ["billing", "2"],
      ["other", "1"],
    ] as const) {
      expect(await rig.run("show", "--namespace", namespace, id)).toEqual({
        exitCode: 1,
        out: "",
        err: "punctual messages show: refused (messageNotFound): The namespace has no undeliverable message with this id.\n",
      })
    }
  })

  test("no control characters of a message or an error reach the terminal", async () => {
    await using rig = await messagesRig()
    const hostile = "\u001b[2J\u0007\u009b31m\u202egpj\u2028\r\n\ud800 \u{e0001}"
    const failure = { at: 0, error: hostile }
    const facts = { firstFailure: failure, lastFailure: failure }
    const soundJson = JSON.stringify({ text: `\u007f\u0085${hostile}` })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for exactly these characters.
    const commands = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\ud800-\udfff]/
    for (const original of [hostile, soundJson]) {
      const entry = entryOf(facts, new TextEncoder().encode(original))
      const letters = holding(rig.kept, entry)
      for (const args of [["list"], ["show", "1"], ["list", "--json"], ["show", "1", "--json"]]) {
        const { exitCode, out } = await rig.runOn(letters, [...args, "--namespace", "billing"])
        expect(exitCode).toBe(0)
        expect(out).not.toMatch(commands)
        if (args.includes("--json")) expect(out).toContain("\\u001b[2J")
        if (args[0] === "list" && args.length === 1) expect(out.split("\n").length).toBe(3)
      }
    }
    const shown = await rig.run("show", "--namespace", "billing", "--", hostile)
    expect(shown.err).not.toMatch(commands)
  })
})

describe("messages called wrongly", () => {
  const wrong: Record<string, ReadonlyArray<string>> = {
    "no sub-command": [],
    "an unknown sub-command": ["lst"],
    "nobody's": ["show", "1"],
    "ids without a namespace": ["replay", "1"],
    "an invalid namespace": ["list", "--namespace", "a b"],
    "a reserved namespace": ["list", "--namespace", "_internal"],
    "an unknown flag": ["list", "--namespace", "t", "--alll"],
    "a limit of zero": ["list", "--namespace", "t", "--limit", "0"],
    "a limit beyond a page": ["list", "--namespace", "t", "--limit", "1001"],
    "a limit that is not a number": ["list", "--namespace", "t", "--limit", "many"],
    "one argument too many": ["list", "--namespace", "t", "1"],
    "nothing to show": ["show", "--namespace", "t"],
    "neither ids nor --all": ["replay", "--namespace", "t"],
    "both ids and --all": ["replay", "--namespace", "t", "--all", "1"],
    "discard --all without --yes": ["discard", "--namespace", "t", "--all"],
  }
  for (const [what, args] of Object.entries(wrong)) {
    test(`${what}: the exit code is 2, stderr says why, and the service gets no request`, async () => {
      const { exitCode, out, err } = await run(["messages", ...args], nowhere)
      expect([exitCode, out]).toEqual([2, ""])
      expect(err).toMatch(
        args.length === 0 ? /SUBCOMMANDS/ : /^punctual messages.*: .+ See punctual messages.* --help\.\n$/,
      )
    })
  }

  test("suggests the intended flag, names what is missing, and explains --yes", async () => {
    const errOf = async (...args: ReadonlyArray<string>) => (await run(["messages", ...args], nowhere)).err
    expect(await errOf("lst")).toContain("Did you mean list?")
    expect(await errOf("show", "1")).toContain("--namespace")
    expect(await errOf("discard", "--namespace", "t", "--all")).toContain("add --yes")
  })
})

describe("messages", () => {
  test("shows its help on stdout without a service", async () => {
    for (const args of [[], ["list"], ["show"], ["replay"], ["discard"]]) {
      const { exitCode, out, err } = await run(["messages", ...args, "--help"], nowhere)
      expect([exitCode, err]).toEqual([0, ""])
      expect(out).toContain(["punctual messages", ...args].join(" "))
    }
  })

  test("has the alias dlq", async () => {
    await using rig = await messagesRig()
    await rig.send({})
    const byAlias = await run(["dlq", "list"], { environmentUrl: rig.url })
    expect(byAlias).toEqual(await rig.run("list"))
    expect(byAlias.exitCode).toBe(0)
  })

  test("list shows the messages of all namespaces unless one is named", async () => {
    await using rig = await messagesRig()
    await rig.send({}, { namespace: "other" })
    const { out } = await rig.run("list")
    expect(out.split("\n").map((line) => line.split(/ {2,}/)[0])).toEqual([
      "NAMESPACE",
      "billing",
      "other",
      "",
    ])
  })

  test("an unreachable broker is reported in one line", async () => {
    await using rig = await messagesRig()
    const fail = () => Effect.fail(new BusError({ message: "no broker at nats://h:4222: start one." }))
    const away: Kept = { ...rig.kept, list: fail, find: fail }
    for (const args of [["list"], ["show", "1"], ["discard", "--all", "--yes"]]) {
      expect(await rig.runOn(away, [...args, "--namespace", "_unknown"])).toEqual({
        exitCode: 1,
        out: "",
        err: `punctual messages ${args[0]}: refused (brokerUnavailable): no broker at nats://h:4222: start one. Retry after 5 s.\n`,
      })
    }
  })
})
