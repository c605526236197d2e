// The frame of the operators' commands: exit codes, which output goes where, and which characters it passes.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import fc from "fast-check"
import {
  CommandFailed,
  type CommandFailure,
  type CommandRun,
  misuse,
  Output,
  printable,
  printableLines,
  runTree,
  type Surroundings,
  switchFlag,
} from "../../../src/cli/frame/CommandRuntime.ts"

/** A tree of one command. */
const treeOf = <Input>(command: Command.Command<"try", Input, object, CommandFailure, Output>) =>
  Command.make("punctual").pipe(Command.withSubcommands([command]))

const running = async (
  run: CommandRun,
  args: ReadonlyArray<string> = [],
  surroundings: Partial<Surroundings> = {},
) => {
  const out: Array<string> = []
  const err: Array<string> = []
  const exitCode = await runTree(treeOf(Command.make("try", {}, () => run)), ["try", ...args], {
    columns: undefined,
    out: async (text) => void out.push(text),
    err: async (text) => void err.push(text),
    onStop: () => () => {},
    ...surroundings,
  })
  return { exitCode, out: out.join(""), err: err.join("") }
}

const answering = (text: string): CommandRun => Effect.flatMap(Output, ({ answer }) => answer(text))

describe("a command", () => {
  test("that succeeds ends with 0, and its answer is on stdout", async () => {
    expect(await running(answering("a\nb"))).toEqual({ exitCode: 0, out: "a\nb\n", err: "" })
  })

  test("that fails ends with 1, and says why on stderr", async () => {
    expect(await running(Effect.fail(new CommandFailed({ message: "no." })))).toEqual({
      exitCode: 1,
      out: "",
      err: "punctual try: no.\n",
    })
  })

  test("that was called wrongly ends with 2, and says where its help is", async () => {
    expect(await running(Effect.fail(misuse(["try"], "Not so.")))).toEqual({
      exitCode: 2,
      out: "",
      err: "punctual try: Not so. See punctual try --help.\n",
    })
    expect((await running(Effect.void, ["--nonsense"])).exitCode).toBe(2)
  })

  test("that breaks ends with 1 and a message", async () => {
    expect(await running(Effect.die(new Error("broken")))).toEqual({
      exitCode: 1,
      out: "",
      err: "punctual: Unexpected error: Error: broken\n",
    })
  })

  test("that is stopped closes its scopes, ends with 130, and no longer listens for signals", async () => {
    const events: Array<string> = []
    const waiting = Effect.onInterrupt(Effect.never, () => Effect.sync(() => events.push("closed")))
    const { exitCode } = await running(waiting, [], {
      onStop: (stop) => {
        queueMicrotask(stop)
        return () => events.push("released")
      },
    })
    expect([exitCode, events]).toEqual([130, ["closed", "released"]])
  })

  test("that waits for a stop continues from there, and chooses its exit code", async () => {
    let stop = () => {}
    const waiting = Effect.gen(function* () {
      const { answer, untilStopped } = yield* Output
      const stopped = yield* untilStopped
      yield* Effect.sync(() => stop())
      yield* stopped
      yield* answer("stopped")
    })
    const onStop = (asked: () => void) => {
      stop = asked
      return () => {}
    }
    // The command begins after the handler that stops it is known.
    const ended = await running(Effect.andThen(Effect.yieldNow, waiting), [], { onStop })
    expect([ended.exitCode, ended.out]).toEqual([0, "stopped\n"])
  })

  test("whose output has no reader stops there, with 1 and without a message", async () => {
    let isBeyond = false
    const beyond = Effect.sync(() => {
      isBeyond = true
    })
    const out = () => Promise.reject(new Error("EPIPE"))
    expect(await running(Effect.andThen(answering("a"), beyond), [], { out })).toEqual({
      exitCode: 1,
      out: "",
      err: "",
    })
    expect(isBeyond).toBe(false)
  })

  test("has switches that do not take the next word as a value", async () => {
    const seen: Array<unknown> = []
    const command = Command.make(
      "try",
      { all: switchFlag("all", "All"), ids: Argument.String("ID").pipe(Argument.variadic()) },
      (input) => Effect.sync(() => void seen.push(input)),
    )
    const quiet = { columns: undefined, out: async () => {}, err: async () => {}, onStop: () => () => {} }
    for (const word of ["1", "0", "true", "no", "off"]) {
      await runTree(treeOf(command), ["try", "--all", word], quiet)
    }
    expect(seen).toEqual(["1", "0", "true", "no", "off"].map((word) => ({ all: true, ids: [word] })))
  })
})

describe("printed output", () => {
  test("contains no control characters for a terminal", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
        expect(printableLines(text).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      }),
    )
    expect(printable("a\u001b[2J\u0007\r\n\u202e\ud800")).toBe("a\\u001b[2J\\u0007\\r\\n\\u202e\\ud800")
  })

  test("is the same JSON value, where it is JSON", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(JSON.parse(printableLines(JSON.stringify({ text }, undefined, 2)))).toEqual({ text })
      }),
    )
  })

  test("is otherwise unchanged", () => {
    const text = "Grüße, 漢字, 🎉 \\ {}"
    expect([printable(text), printableLines(`${text}\n`)]).toEqual([text, `${text}\n`])
  })
})
