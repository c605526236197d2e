// `punctual listen`: a receiver for trials. The real deliverer calls it.

import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { openEgress } from "@punctual/egress/Egress"
import { Effect } from "effect"
import { makeWebhookDeliverer } from "../../../src/deliverers/webhook/WebhookDeliverer.ts"
import type { Delivery, Fire } from "../../../src/ports/Deliverer.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { sampleFire, sampleWebhook } from "../../../testkit/sampleFire.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { run } from "../CommandFixture.ts"

/** Runs the command on a free port until it is disposed. */
const running = async (...args: ReadonlyArray<string>) => {
  const lines: Array<string> = []
  const errors: Array<string> = []
  const listening = Promise.withResolvers<string>()
  const stopped = Promise.withResolvers<void>()
  const ended = run(["listen", "--port", "0", ...args], {
    out: async (text) => {
      const url = /^Listening on (\S+) /.exec(text)?.[1]
      if (url === undefined) lines.push(...text.trimEnd().split("\n"))
      else listening.resolve(url)
    },
    err: async (text) => void errors.push(text),
    onStop: (stop) => {
      void stopped.promise.then(stop)
      return () => {}
    },
  })
  const url = await listening.promise
  const stop = async () => {
    stopped.resolve()
    return (await ended).exitCode
  }
  return { url, lines, errors, stop, [Symbol.asyncDispose]: async () => void (await stop()) }
}

const dueAt = Date.parse("2030-01-01T00:00:00Z")

const deliver = (url: string, fire: Partial<Fire> = {}, body: "envelope" | "payload" = "envelope") =>
  Effect.runPromise(
    makeWebhookDeliverer({ egress: openEgress }).deliver(
      sampleFire(sampleWebhook(url, { body }), {
        executeAt: dueAt,
        firedAt: dueAt + 7,
        payload: new TextEncoder().encode('{"amount": 5}'),
        ...fire,
      }),
    ),
  )

const statusOf = (delivery: Delivery): number | undefined =>
  "status" in delivery ? delivery.status : undefined

describe("listen", () => {
  test("prints each delivery on one line and accepts it", async () => {
    await using receiver = await running()
    expect(await deliver(receiver.url)).toEqual({ kind: "delivered", status: 200 })
    expect(receiver.lines.length).toBe(1)
    expect(receiver.lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} {2}\+7ms {2}billing\/invoice-1 {2}attempt 1 {2}answered 200 {2}\{"amount": 5\}$/,
    )
  })

  test("counts lateness from the arming, if the timer was overdue by then", async () => {
    await using receiver = await running()
    // The fireId contains the time: its first 48 bits are milliseconds.
    const armedAt = 0x0194fdc2fa2f
    await deliver(receiver.url, { executeAt: 0, firedAt: armedAt + 3 })
    await deliver(receiver.url, { executeAt: 0, firedAt: armedAt + 3, fireId: "no-uuid" })
    expect(receiver.lines.map((line) => line.split("  ")[1])).toEqual(["+3ms", "+20,132 d 5 h"])
  })

  test("prints one object a line for programs, with the body unchanged", async () => {
    const lines: Array<string> = []
    let stop = () => {}
    const ended = run(["listen", "--port", "0", "--json"], {
      out: async (text) => {
        lines.push(text)
        if (lines.length > 1) return stop()
        await fetch(JSON.parse(text).url, { method: "POST", body: '{"n":\n1e400}' }).catch(() => {})
      },
      onStop: (asked) => {
        stop = asked
        return () => {}
      },
    })
    expect((await ended).exitCode).toBe(0)
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/) },
      { receivedAt: expect.stringMatching(/Z$/), attempt: 1, answered: 200, body: '{"n":\n1e400}' },
    ])
  })

  test("says of a dead timer which it is, and why", async () => {
    await using receiver = await running()
    const death = {
      timerId: "invoice-0",
      fireId: "f",
      revision: 1,
      executeAt: 5,
      reason: "expired",
      attempts: 0,
    }
    await deliver(receiver.url, { death })
    expect(receiver.lines[0]).toContain("  dead: expired  billing/invoice-0  attempt 1  answered 200  ")
  })

  test("identifies a bare payload by its webhook-id", async () => {
    await using receiver = await running()
    await deliver(receiver.url, {}, "payload")
    expect(receiver.lines[0]).toContain("  +?  0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60  attempt 1  ")
    expect(receiver.lines[0]).toEndWith('{"amount": 5}')
  })

  test("shortens long text and sends no control characters to the terminal", async () => {
    await using receiver = await running()
    await fetch(receiver.url, { method: "POST", body: `\u001b[2J\u009b31m\nnew line ${"x".repeat(10_000)}` })
    expect(receiver.lines.length).toBe(1)
    expect(receiver.lines[0]).not.toMatch(/\p{Cc}/u)
    expect(receiver.lines[0]?.length).toBeLessThan(250)
    expect(receiver.lines[0]).toEndWith("x…")
  })

  test("answers with the given status", async () => {
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
    await eventually("the receiver prints the call", () => (receiver.lines.length === 1 ? true : undefined))
  })

  test("survives callers that disconnect or send nonsense", async () => {
    const unhandled: Array<unknown> = []
    const note = (reason: unknown) => void unhandled.push(reason)
    process.on("unhandledRejection", note)
    await using receiver = await running()
    const { hostname, port } = new URL(receiver.url)
    for (const isReset of [true, false]) {
      const socket = connect(Number(port), hostname)
      await once(socket, "connect")
      // The rest of the body never comes.
      socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\nabc")
      await once(socket, "data")
      if (isReset) socket.resetAndDestroy()
      else socket.destroy()
      await once(socket, "close")
    }
    const headers = { "punctual-attempt": "first" }
    expect((await fetch(receiver.url, { method: "POST", headers, body: "null" })).status).toBe(200)
    expect(receiver.lines).toEqual([expect.stringContaining("  attempt 1  answered 200  null")])
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", note)
    expect([unhandled, receiver.errors]).toEqual([[], []])
  })

  test("ends with 0 when it is stopped", async () => {
    const receiver = await running()
    expect(await receiver.stop()).toBe(0)
    expect(receiver.errors).toEqual([])
    await expect(fetch(receiver.url)).rejects.toThrow()
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
      ["--secret", "whsec_short"],
      ["--reject"],
    ]
    for (const call of calls) {
      const { exitCode, out, err } = await run(["listen", ...call])
      expect([call, exitCode, out]).toEqual([call, 2, ""])
      expect(err).toMatch(/^punctual listen: [^\n]+ See punctual listen --help\.\n$/)
    }
  })

  test("says in one line that its port is in use", async () => {
    await using receiver = await running()
    const port = new URL(receiver.url).port
    expect(await run(["listen", "--port", port])).toEqual({
      exitCode: 1,
      out: "",
      err: `punctual listen: port ${port} is in use; pick another with --port, or 0 for a free one.\n`,
    })
  })
})

describe("listen with secrets", () => {
  const secret = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`
  const signed = (fill: number, ageSeconds = 0) => {
    const timestamp = String(Math.floor(Date.now() / 1_000) - ageSeconds)
    const signature = createHmac("sha256", Buffer.alloc(32, fill))
      .update(`f.${timestamp}.{}`)
      .digest("base64")
    return { "webhook-id": "f", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` }
  }
  const send = async (url: string, headers: Record<string, string>) =>
    (await fetch(url, { method: "POST", headers, body: "{}" })).status
  const calls = [signed(1), signed(2), signed(3), signed(1, 400), {}]

  test("shows whether each call's signature is valid, and answers in any case", async () => {
    await using receiver = await running("--secret", secret(1), "--secret", secret(2))
    for (const headers of calls) expect(await send(receiver.url, headers)).toBe(200)
    expect(receiver.lines.map((line) => /signature (\S+(?: old)?) {2}answered 200/.exec(line)?.[1])).toEqual([
      "ok",
      "ok",
      "wrong",
      "too old",
      "missing",
    ])
  })

  test("also reads secrets from a file, so that no process list shows them", async () => {
    using folder = new TemporaryFolder()
    const file = join(folder.path, "secrets.txt")
    writeFileSync(file, `${secret(1)}\n${secret(2)}\n`)
    await using receiver = await running("--secret-file", file, "--reject")
    const statuses = []
    for (const headers of calls) statuses.push(await send(receiver.url, headers))
    expect(statuses).toEqual([200, 200, 401, 401, 401])
    expect((await run(["listen", "--secret-file", join(folder.path, "none")])).exitCode).toBe(1)
  })

  test("answers 401 to unsigned calls if it is told to reject them", async () => {
    await using receiver = await running("--secret", secret(1), "--secret", secret(2), "--reject")
    const statuses = []
    for (const headers of calls) statuses.push(await send(receiver.url, headers))
    expect(statuses).toEqual([200, 200, 401, 401, 401])
  })
})
