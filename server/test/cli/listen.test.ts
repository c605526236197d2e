import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { listen } from "../../src/cli/listen.ts"
import { openEgress } from "../../src/deliverers/webhook/Egress.ts"
import { makeWebhookDeliverer } from "../../src/deliverers/webhook/WebhookDeliverer.ts"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"

/** Runs the command on a free port until it is disposed of. */
const running = async (...args: ReadonlyArray<string>) => {
  const lines: Array<string> = []
  const errors: Array<string> = []
  const listening = Promise.withResolvers<string>()
  const stopped = Promise.withResolvers<void>()
  const exitCode = listen(["--port", "0", ...args], {
    out: (line) => {
      const url = /^Listening on (\S+) /.exec(line)?.[1]
      if (url === undefined) lines.push(line)
      else listening.resolve(url)
    },
    err: (line) => errors.push(line),
    untilStopped: () => stopped.promise,
  })
  const url = await listening.promise
  const stop = () => {
    stopped.resolve()
    return exitCode
  }
  return { url, lines, errors, stop, [Symbol.asyncDispose]: async () => void (await stop()) }
}

/** Runs the command where it is expected to end by itself. */
const ending = async (...args: ReadonlyArray<string>) => {
  const out: Array<string> = []
  const errors: Array<string> = []
  const exitCode = await listen(args, {
    out: (line) => out.push(line),
    err: (line) => errors.push(line),
    untilStopped: () => Promise.reject(new Error("it did not end by itself")),
  })
  return { exitCode, out, errors }
}

const deliver = (url: string, fire: Partial<Fire> = {}, body: "envelope" | "payload" = "envelope") =>
  Effect.runPromise(
    makeWebhookDeliverer({ egress: openEgress }).deliver({
      namespace: "billing",
      timerId: "invoice-1",
      fireId: "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60",
      attempt: 1,
      epoch: 1,
      revision: 1,
      executeAt: 1_000,
      firedAt: 1_007,
      correlationId: "c",
      payload: new TextEncoder().encode('{"amount": 5}'),
      target: { type: "webhook", url, method: "POST", timeoutMs: 5_000, body },
      ...fire,
    }),
  )

const statusOf = (delivery: Delivery): number | undefined => delivery.status

describe("listen", () => {
  test("prints each delivery on one line and accepts it", async () => {
    await using receiver = await running()
    expect(await deliver(receiver.url)).toEqual({ kind: "delivered", status: 200 })
    expect(receiver.lines.length).toBe(1)
    expect(receiver.lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} {2}\+7ms {2}billing\/invoice-1 {2}attempt 1 {2}answered 200 {2}\{"amount": 5\}$/,
    )
  })

  test("names a bare payload by its webhook-id", async () => {
    await using receiver = await running()
    await deliver(receiver.url, {}, "payload")
    expect(receiver.lines[0]).toContain("  +?  0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60  attempt 1  ")
    expect(receiver.lines[0]).toEndWith('{"amount": 5}')
  })

  test("shortens what is long and keeps control characters from the terminal", async () => {
    await using receiver = await running()
    await fetch(receiver.url, { method: "POST", body: `\u001b[2J\u009b31m\nnew line ${"x".repeat(10_000)}` })
    expect(receiver.lines.length).toBe(1)
    expect(receiver.lines[0]).not.toMatch(/\p{Cc}/u)
    expect(receiver.lines[0]?.length).toBeLessThan(250)
    expect(receiver.lines[0]).toEndWith("x…")
  })

  test("answers with the status it is told to", async () => {
    await using receiver = await running("--answer", "410")
    expect(statusOf(await deliver(receiver.url))).toBe(410)
  })

  test("fails the first attempts if it is told to", async () => {
    await using receiver = await running("--fail-first=2", "--answer", "204")
    const statuses = []
    for (const attempt of [1, 2, 3]) statuses.push(statusOf(await deliver(receiver.url, { attempt })))
    expect(statuses).toEqual([500, 500, 204])
  })

  test("answers late if it is told to", async () => {
    await using receiver = await running("--delay", "1m")
    const timeoutMs = 30
    const target = {
      type: "webhook",
      url: receiver.url,
      method: "POST",
      timeoutMs,
      body: "envelope",
    } as const
    expect(await deliver(receiver.url, { target })).toMatchObject({ kind: "retry", isHostFailure: true })
    expect(receiver.lines.length).toBe(1)
  })

  test("ends well when it is stopped", async () => {
    const receiver = await running()
    expect(await receiver.stop()).toBe(0)
    expect(receiver.errors).toEqual([])
    await expect(fetch(receiver.url)).rejects.toThrow()
  })

  test("explains itself", async () => {
    const { exitCode, out } = await ending("--port", "x", "--help")
    expect(exitCode).toBe(0)
    for (const flag of ["--port", "--answer", "--fail-first", "--delay", "--help"]) {
      expect(out.join("\n")).toContain(flag)
    }
  })

  test("says in one line what is wrong with its flags", async () => {
    const calls = [
      ["--nope"],
      ["extra"],
      ["--port"],
      ["--port", "x"],
      ["--port", "65536"],
      ["--answer", "99"],
      ["--fail-first", "-1"],
      ["--delay", "soon"],
      ["--delay", "7d"],
    ]
    for (const call of calls) {
      const { exitCode, out, errors } = await ending(...call)
      expect([call, exitCode, out, errors.length]).toEqual([call, 2, [], 1])
      expect(errors[0]).toMatch(/^punctual listen: [^\n]+ See punctual listen --help\.$/)
    }
  })

  test("says in one line that its port is in use", async () => {
    await using receiver = await running()
    const port = new URL(receiver.url).port
    const { exitCode, errors } = await ending("--port", port)
    expect(exitCode).toBe(1)
    expect(errors).toEqual([
      `punctual listen: port ${port} is in use; pick another with --port, or 0 for a free one.`,
    ])
  })
})
