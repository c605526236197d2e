// `punctual messages replay` and `discard`: they report the result of each message and do not touch others.
import { describe, expect, test } from "bun:test"
import { BusError } from "@punctual/bus/Bus"
import { Effect } from "effect"
import { eventually } from "../../../testkit/eventually.ts"
import { type Kept, type MessagesRig, messagesRig } from "./MessagesFixture.ts"

const notFound = "refused (messageNotFound): The namespace has no undeliverable message with this id."

const handles = (rig: MessagesRig) => {
  rig.handle = () => Effect.void
}

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ serviceCallId: `c${index + 1}` }))

const numbers = (from: number, until: number) =>
  Array.from({ length: until - from + 1 }, (_, index) => String(from + index))

/** Makes something happen before the nth replay. */
const before = (nth: number, kept: Kept, happen: Effect.Effect<unknown, BusError>): Kept => {
  let replays = 0
  return {
    ...kept,
    replay: (namespace, id) =>
      Effect.suspend(() =>
        ++replays === nth ? Effect.andThen(happen, kept.replay(namespace, id)) : kept.replay(namespace, id),
      ),
  }
}

describe("messages replay", () => {
  test("sends only the named messages again", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(3))
    handles(rig)
    expect(await rig.run("replay", "--namespace", "billing", "3", "1", "3")).toEqual({
      exitCode: 0,
      out: "billing  3  replayed\nbilling  1  replayed\n",
      err: "2 of 2 replayed.\n",
    })
    await eventually("both are handled", () => (rig.handled.length === 2 ? true : undefined))
    expect(rig.handled).toEqual(["c3", "c1"])
    expect(await rig.ids("billing")).toEqual(["2"])
  })

  test("of an unknown id says so, replays the others, and fails", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(1), { namespace: "other" })
    expect(await rig.run("replay", "--namespace", "billing", "2", "1")).toEqual({
      exitCode: 1,
      out: `billing  2  failed: ${notFound}\nbilling  1  replayed\n`,
      err: "punctual messages replay: 1 of 2 replayed, 1 failed.\n",
    })
    expect(await rig.ids("other")).toEqual(["2"])
  })

  test("of a message that the broker takes for a duplicate says that the message stays, and fails", async () => {
    await using rig = await messagesRig()
    const letters = { ...rig.kept, replay: () => Effect.succeed("duplicate" as const) }
    const { exitCode, out, err } = await rig.runOn(letters, ["replay", "--namespace", "billing", "1"])
    expect(exitCode).toBe(1)
    expect(out).toMatch(/^billing {2}1 {2}duplicate: .*nothing was sent\. The message stays here/)
    expect(err).toContain("0 of 1 replayed, 1 duplicate.")
  })

  test("as JSON prints one object a line", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(2))
    const letters: Kept = {
      ...rig.kept,
      replay: (namespace, id) =>
        id === "2" ? Effect.fail(new BusError({ message: "too large" })) : rig.kept.replay(namespace, id),
    }
    const { out } = await rig.runOn(letters, ["replay", "--namespace", "billing", "--json", "1", "2", "9"])
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { namespace: "billing", id: "1", result: "replayed" },
      { namespace: "billing", id: "2", result: "failed", error: expect.stringContaining("too large") },
      { namespace: "billing", id: "9", result: "failed", error: notFound },
    ])
  })
})

describe("messages replay --all", () => {
  test("replays all messages of the namespace, page by page, in order, and reports progress", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(620), { namespace: "other" })
    handles(rig)
    const { exitCode, out, err } = await rig.run("replay", "--namespace", "billing", "--all")
    expect(exitCode).toBe(0)
    expect(out).toBe(
      numbers(1, 620)
        .map((id) => `billing  ${id}  replayed\n`)
        .join(""),
    )
    expect(err).toBe("There are 620 undeliverable messages.\n500 of 620 …\n620 of 620 replayed.\n")
    expect([await rig.ids("billing"), await rig.ids("other")]).toEqual([[], ["621"]])
  })

  test("replays the messages that existed when it began, even if they fail again while it runs", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(250))
    const { exitCode, out } = await rig.run("replay", "--namespace", "billing", "--all")
    expect(exitCode).toBe(0)
    expect(out).toBe(
      numbers(1, 250)
        .map((id) => `billing  ${id}  replayed\n`)
        .join(""),
    )
    const again = await eventually("all are undeliverable again", async () => {
      const ids = await rig.ids("billing")
      return ids.length === 250 ? ids : undefined
    })
    expect(again).toEqual(numbers(251, 500))
  })

  test("does not replay later messages, even if other operators took some of its own first", async () => {
    // Later means a later time if the last message is gone. If all messages have one millisecond, it means a later
    // position.
    for (const { tickMs, taken, left } of [
      { tickMs: 1, taken: "3", left: ["1", "2"] },
      { tickMs: 0, taken: "2", left: ["1", "3"] },
    ]) {
      await using rig = await messagesRig({ tickMs })
      await rig.send(...many(3))
      const refuse = rig.handle
      rig.handle = (id) => (id.startsWith("later") ? refuse(id) : Effect.void)
      const pagesOfOne: Kept = {
        ...rig.kept,
        list: (namespace, page) => rig.kept.list(namespace, { ...page, limit: 1 }),
      }
      const meddle = Effect.andThen(
        rig.kept.discard("billing", taken),
        Effect.promise(() => rig.send({ serviceCallId: "later" }, { serviceCallId: "later-still" })),
      )
      const letters = before(1, pagesOfOne, meddle)
      const { exitCode, out, err } = await rig.runOn(letters, ["replay", "--namespace", "billing", "--all"])
      expect([exitCode, out]).toEqual([0, left.map((id) => `billing  ${id}  replayed\n`).join("")])
      expect(err).toBe("2 of 3 replayed, 1 already gone.\n")
      expect(await rig.ids("billing")).toEqual(["4", "5"])
    }
  })

  test("continues after a message that fails, but stops when the broker is unreachable, and says how far it came", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(9))
    handles(rig)
    const letters: Kept = {
      ...rig.kept,
      replay: (namespace, id) =>
        id === "2" || Number(id) >= 4
          ? Effect.fail(new BusError({ message: "no answer" }))
          : rig.kept.replay(namespace, id),
    }
    const { exitCode, out, err } = await rig.runOn(letters, ["replay", "--namespace", "billing", "--all"])
    expect(exitCode).toBe(1)
    expect(out.split("\n").map((line) => line.split("  ")[2])).toEqual([
      "replayed",
      "failed: refused (brokerUnavailable): no answer Retry after 5 s.",
      "replayed",
      "failed: refused (brokerUnavailable): no answer Retry after 5 s.",
      "failed: refused (brokerUnavailable): no answer Retry after 5 s.",
      "failed: refused (brokerUnavailable): no answer Retry after 5 s.",
      undefined,
    ])
    expect(err).toBe("punctual messages replay: 2 of 9 replayed, 4 failed, 3 not tried.\n")
  })

  test("says how far it came when a page cannot be read", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(150))
    handles(rig)
    let pages = 0
    const letters: Kept = {
      ...rig.kept,
      list: (namespace, page) =>
        Effect.suspend(() =>
          ++pages === 4
            ? Effect.fail(new BusError({ message: "The broker is away." }))
            : rig.kept.list(namespace, page),
        ),
    }
    const { exitCode, err } = await rig.runOn(letters, ["replay", "--namespace", "billing", "--all"])
    expect(exitCode).toBe(1)
    expect(err).toBe(
      "punctual messages replay: refused (brokerUnavailable): The broker is away. Retry after 5 s. 100 of 150 replayed, 50 not tried.\n",
    )
  })

  test("stopped by a signal, it finishes the current message, says how far it came, and exits with 130", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(3))
    handles(rig)
    let stop = () => {}
    const letters = before(
      2,
      rig.kept,
      Effect.sync(() => stop()),
    )
    const { exitCode, out, err } = await rig.runOn(letters, ["replay", "--namespace", "billing", "--all"], {
      onStop: (stopping) => {
        stop = stopping
        return () => {}
      },
    })
    expect([exitCode, out]).toEqual([130, "billing  1  replayed\nbilling  2  replayed\n"])
    expect(err).toBe("Interrupted: 2 of 3 replayed, 1 not tried.\n")
    expect(await rig.ids("billing")).toEqual(["3"])
  })

  test("without a namespace replays the messages of all namespaces, and names the namespace of each", async () => {
    await using rig = await messagesRig()
    await rig.send({}, { namespace: "other" }, {})
    handles(rig)
    expect(await rig.run("replay", "--all")).toEqual({
      exitCode: 0,
      out: "billing  1  replayed\nother  2  replayed\nbilling  3  replayed\n",
      err: "3 of 3 replayed.\n",
    })
    expect([await rig.ids("billing"), await rig.ids("other")]).toEqual([[], []])
  })

  test("of an empty list is not a failure", async () => {
    await using rig = await messagesRig()
    const nothing = await rig.run("replay", "--namespace", "_unknown", "--all")
    expect(nothing).toEqual({ exitCode: 0, out: "No undeliverable messages of _unknown.\n", err: "" })
    expect((await rig.run("replay", "--namespace", "_unknown", "--all", "--json")).out).toBe("")
  })
})

describe("messages discard", () => {
  test("removes the named messages for good", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(3))
    handles(rig)
    expect(await rig.run("discard", "--namespace", "billing", "1", "9")).toEqual({
      exitCode: 1,
      out: `billing  1  discarded\nbilling  9  failed: ${notFound}\n`,
      err: "punctual messages discard: 1 of 2 discarded, 1 failed.\n",
    })
    expect([await rig.ids("billing"), rig.handled]).toEqual([["2", "3"], []])
  })

  test("--all --yes removes all messages of the namespace, and of no other", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(150), { namespace: "other" })
    const { exitCode, err } = await rig.run("discard", "--namespace", "billing", "--all", "--yes")
    expect([exitCode, err]).toEqual([0, "150 of 150 discarded.\n"])
    expect([await rig.ids("billing"), await rig.ids("other")]).toEqual([[], ["151"]])
  })

  test("--all without --yes removes nothing", async () => {
    await using rig = await messagesRig()
    await rig.send(...many(1))
    expect((await rig.run("discard", "--namespace", "billing", "--all")).exitCode).toBe(2)
    expect(await rig.ids("billing")).toEqual(["1"])
  })
})
