// The cases of sdks/conformance about receiving webhooks, and what only this library has: the handler of node:http.
import { describe, expect, test } from "bun:test"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { signedRequest } from "../src/testing/signedRequest.ts"
import {
  Dead,
  type Handle,
  handler,
  nodeHandler,
  Retry,
  signWebhook,
  type TimerEvent,
} from "../src/webhooks.ts"
import { casesOf, nativeOf } from "./ConformanceRun.ts"

const secret = `whsec_${btoa("0123456789abcdef0123456789abcdef")}`
const now = "2030-01-01T00:00:00.000Z"

interface ReceiveCase {
  readonly name: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly does: {
    readonly return?: unknown
    readonly retry?: string | null
    readonly dead?: string
    readonly throw?: string
  }
  readonly status: number
  readonly answer?: object
  readonly answerHeaders?: Record<string, string>
  readonly answerLacks?: string
  readonly handled?: object | false
  readonly handledBy?: string
  readonly signature?: "wrong"
  readonly secrets?: "none"
  readonly on?: ReadonlyArray<string>
  readonly fallback?: true
  readonly memory?: { readonly done?: boolean | string }
  readonly marked?: boolean
  readonly maxBodyBytes?: number
}

const act = ({ does }: ReceiveCase): ReturnType<Handle> => {
  if (does.retry !== undefined) throw new Retry(does.retry ?? undefined)
  if (does.dead !== undefined) throw new Dead(does.dead)
  if (does.throw !== undefined) throw new Error(does.throw)
  return nativeOf(does.return) as ReturnType<Handle>
}

const requestOf = async ({ headers, body, signature }: ReceiveCase): Promise<Request> => {
  const id = "01b8d832-8600-7000-8000-03fe5c9c45b0"
  const timestampSeconds = Date.parse(now) / 1000
  const bytes = new TextEncoder().encode(body)
  const signed = await signWebhook({ id, timestampSeconds }, bytes, secret)
  const all = {
    ...headers,
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": signature === "wrong" ? `v1,${btoa("wrong")}` : signed,
  }
  return new Request("http://receiver.test/hooks", { method: "POST", headers: all, body: bytes })
}

const quiet = { debug: () => undefined, warn: () => undefined }

describe("the handler", () => {
  for (const given of casesOf<ReceiveCase>("receive")) {
    test(given.name, async () => {
      const events: Array<TimerEvent> = []
      const calledBy: Array<string> = []
      const marked: Array<string> = []
      const functionNamed =
        (name: string): Handle =>
        (event) => {
          events.push(event)
          calledBy.push(name)
          return act(given)
        }
      const { on, fallback, memory, maxBodyBytes } = given
      const receive = handler({
        secrets: given.secrets ?? [secret],
        ...(on === undefined
          ? { handle: functionNamed("handle") }
          : { on: Object.fromEntries(on.map((tag) => [tag, functionNamed(tag)])) }),
        ...(fallback === true ? { fallback: functionNamed("fallback") } : {}),
        ...(memory === undefined
          ? {}
          : { memory: { done: () => memory.done, markDone: (fireId: string) => void marked.push(fireId) } }),
        maxBodyBytes,
        nowMs: () => Date.parse(now),
        logger: quiet,
      })
      const answer = await receive(await requestOf(given))
      const text = await answer.text()
      expect(answer.status).toBe(given.status)
      if (given.answer !== undefined) expect(JSON.parse(text)).toEqual(given.answer)
      if (given.answerLacks !== undefined) expect(text).not.toContain(given.answerLacks)
      for (const [name, value] of Object.entries(given.answerHeaders ?? {}))
        expect(answer.headers.get(name)).toBe(value)
      if (given.handled === false) expect(events).toEqual([])
      else expect(events).toMatchObject([given.handled ?? {}])
      if (given.handledBy !== undefined) expect(calledBy).toEqual([given.handledBy])
      if (given.marked !== undefined) expect(marked.length).toBe(given.marked ? 1 : 0)
    })
  }

  test("gives the exact text of the payload", async () => {
    const body =
      '{"type":"timer.fired","fireId":"01b8d832-8600-7000-8000-03fe5c9c45b0","payload":{ "n":12345678901234567890 }}'
    const [given] = casesOf<ReceiveCase>("receive")
    let text: string | undefined
    const receive = handler({
      secrets: secret,
      nowMs: () => Date.parse(now),
      handle: ({ rawPayload }) => {
        text = rawPayload?.text
      },
    })
    const answer = await receive(await requestOf({ ...(given as ReceiveCase), body }))
    expect(answer.status).toBe(200)
    expect(text).toBe('{ "n":12345678901234567890 }')
  })

  test("ends the function's signal at the deadline, and when the caller goes away", async () => {
    const untilAborted = ({ signal }: TimerEvent) =>
      new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)))
    const receive = handler({ secrets: secret, timeoutMs: 1, handle: untilAborted })
    expect((await receive(await signedRequest({ secret }))).status).toBe(200)
    const gone = new AbortController()
    const patient = handler({
      secrets: secret,
      handle: (event) => {
        const ended = untilAborted(event)
        gone.abort()
        return ended
      },
    })
    const request = await signedRequest({ secret })
    expect((await patient(new Request(request, { signal: gone.signal }))).status).toBe(200)
  })

  test("must have secrets, or say that there are none", () => {
    const warnings: Array<string> = []
    const logger = { debug: () => undefined, warn: (text: string) => void warnings.push(text) }
    const handle = () => undefined
    expect(() => handler({ secrets: [], handle })).toThrow("at least one secret")
    expect(() => handler({ secrets: ["whsec_short"], handle })).toThrow("24 to 64 bytes")
    expect(() => handler({ secrets: undefined as never, handle })).toThrow("at least one secret")
    expect(() => handler({ secrets: secret })).toThrow("exactly one of handle and on")
    handler({ secrets: "none", handle, logger })
    expect(warnings.join()).toContain("without a signature")
  })
})

describe("the handler of node:http", () => {
  const withServer = async (use: (url: string, timerIds: ReadonlyArray<string>) => Promise<void>) => {
    const timerIds: Array<string> = []
    const receive = nodeHandler({
      secrets: secret,
      maxBodyBytes: 1000,
      handle: ({ timerId }) => void timerIds.push(timerId),
    })
    const server = createServer((request, response) => void receive(request, response))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    try {
      await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, timerIds)
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  const sentTo = async (url: string, request: Request): Promise<number> => {
    const body = await request.arrayBuffer()
    const answer = await fetch(url, { method: "POST", headers: request.headers, body })
    await answer.arrayBuffer()
    return answer.status
  }

  test("checks and answers as the other one does", () =>
    withServer(async (url, timerIds) => {
      expect(await sentTo(url, await signedRequest({ secret, timerId: "ä" }))).toBe(200)
      expect(await sentTo(url, await signedRequest({ timerId: "unsigned" }))).toBe(401)
      expect(await sentTo(url, await signedRequest({ secret, payload: "x".repeat(2_000) }))).toBe(413)
      expect(timerIds).toEqual(["ä"])
    }))

  test("says so if something has read the body before", async () => {
    const warnings: Array<string> = []
    const logger = { debug: () => undefined, warn: (text: string) => void warnings.push(text) }
    const receive = nodeHandler({ secrets: secret, handle: () => undefined, logger })
    const read = { headers: {}, readableEnded: true, async *[Symbol.asyncIterator]() {} }
    const statuses: Array<number> = []
    await receive(read, {
      writeHead: (status) => statuses.push(status),
      end: () => undefined,
      on: () => undefined,
    })
    expect(statuses).toEqual([500])
    expect(warnings.join()).toContain("mount the handler before express.json()")
  })

  test("answers a request whose body breaks off", async () => {
    const receive = nodeHandler({ secrets: secret, handle: () => undefined })
    const broken = {
      headers: {},
      // biome-ignore lint/correctness/useYield: the body breaks before its first part.
      async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
        throw new Error("aborted")
      },
    }
    const statuses: Array<number> = []
    const end = { end: () => undefined, on: () => undefined }
    await receive(broken, { writeHead: (status) => statuses.push(status), ...end })
    expect(statuses).toEqual([400])
  })
})
