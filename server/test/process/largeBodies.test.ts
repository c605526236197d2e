// Large bodies whose form makes parsing slow hold up nobody: while they are refused, other calls are answered and timers
// fire, and memory stays bounded. Bodies above the limit of their call are refused before they are read.
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { defaultLimits } from "@punctual/api/Limits"
import { RawClient } from "@punctual/http/testkit/RawClient"
import { describeUnless } from "../../testkit/describeUnless.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"
import { ProcessRun } from "./ProcessRun.ts"

const clients = 8
const mebibyte = 1024 * 1024
const memoryMax = 400 * mebibyte

const head = (index: number) =>
  `"namespace":"attack","timerId":"a-${index}","delay":"1h","callbackUrl":"http://127.0.0.1:1/"`
const many = (item: (index: number) => string) =>
  `{"timers":[${Array.from({ length: 1_000 }, (_, index) => item(index)).join(",")}]}`

const attacks: Readonly<Record<string, () => string>> = {
  "a million unknown fields": () =>
    `{${Array.from({ length: 1_200_000 }, (_, index) => `"f${index}":1`).join(",")}}`,
  "valid timers with payloads nested deeply": () =>
    many((index) => `{${head(index)},"payload":${"[".repeat(7_900)}${"]".repeat(7_900)}}`),
  "millions of empty objects": () => `{"timers":[${new Array(5_000_000).fill("{}").join(",")}]}`,
  "items with thousands of waits": () =>
    many((index) => `{${head(index)},"retryPolicy":{"waits":[${new Array(2_500).fill('"1s"')}]}}`),
  "items with thousands of tags": () =>
    many((index) => `{${head(index)},"tags":[${new Array(3_000).fill('"a"')}]}`),
}

/** The largest amount of memory that the process has had so far. */
const memoryPeak = (pid: number | undefined): number =>
  1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])

const reason = process.platform === "linux" ? undefined : "only Linux tells the memory of another process"

describeUnless(reason, "while large bodies are refused", () => {
  test("other calls are answered, timers fire, and memory stays bounded", async () => {
    await using run = await ProcessRun.start({})
    const { service, receiver } = run
    const post = async (call: string, body: string | Uint8Array) => {
      const response = await fetch(`${service.url}/api/v1/timers/${call}`, {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
      })
      return { status: response.status, text: await response.text() }
    }
    let created = 0
    const createOne = async () => {
      const timerId = `small-${created++}`
      const timer = { namespace: "good", timerId, delay: "0s", callbackUrl: receiver.url }
      const { status } = await post("create", JSON.stringify(timer))
      expect(status).toBe(200)
    }

    for (const [name, textOf] of Object.entries(attacks)) {
      const body = new TextEncoder().encode(textOf())
      let unanswered = clients
      const answers: Array<{ readonly status: number; readonly text: string }> = []
      const all = Promise.all(
        Array.from({ length: clients }, async () => {
          answers.push(await post("createMany", body))
          unanswered--
        }),
      )
      let meanwhile = 0
      do {
        await createOne()
        expect(await service.statusOf("/health/ready")).toBe(200)
        if (unanswered > 0) meanwhile++
      } while (unanswered > 0)
      // A refusal because of memory is allowed, but some bodies must be read and refused because of their form.
      await all
      const statuses = answers.map(({ status }) => status)
      expect([name, statuses.filter((status) => status !== 400 && status !== 503)]).toEqual([name, []])
      expect([name, statuses.includes(400)]).toEqual([name, true])
      for (const { text } of answers) expect(text.length).toBeLessThan(2_000)
      expect([name, meanwhile > 0]).toEqual([name, true])
      expect([name, memoryPeak(service.pid) <= memoryMax]).toEqual([name, true])
    }

    await receiver.until(
      "every small timer has fired",
      (deliveries) => new Set(deliveries.map(({ key }) => key.timerId)).size === created,
    )
  }, 120_000)
})

describe("a body above the limit of its call", () => {
  const { bodyBytes, createManyBodyBytes } = defaultLimits
  const headOf = (call: string, headers: string) =>
    `POST /api/v1/timers/${call} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n`
  const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n`
  /** None of them is a whole request. */
  const tooLarge: Readonly<Record<string, string>> = {
    "2 GB for a create": headOf("create", "Content-Length: 2000000000\r\n"),
    "a byte too much for a create": headOf("create", `Content-Length: ${bodyBytes + 1}\r\n`),
    "100 MB for createMany": `${headOf("createMany", "Content-Length: 100000000\r\n")}{"timers":[`,
    "100 MB for a client that waits for 100 Continue": headOf(
      "createMany",
      "Content-Length: 100000000\r\nExpect: 100-continue\r\n",
    ),
    "chunks without an end": headOf("create", "Transfer-Encoding: chunked\r\n") + chunk(bodyBytes + 1),
  }

  test("is refused as soon as this is known, however long bodies may take, and only callers with a key learn this", async () => {
    using folder = new TemporaryFolder()
    const keyFile = join(folder.path, "admin.key")
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      settings: { TIMER_STORE_URL: "memory:", TIMER_BODY_TIMEOUT: "4m", TIMER_ADMIN_KEY_FILE: keyFile },
    })
    const port = Number(new URL(service.url).port)
    const withKey = `Authorization: Bearer ${readFileSync(keyFile, "utf8").trim()}\r\n`
    for (const [who, header, status, code] of [
      ["somebody", "", 401, "unauthorized"],
      ["a caller with a key", withKey, 413, "bodyTooLarge"],
    ] as const) {
      for (const [what, text] of Object.entries(tooLarge)) {
        using client = await RawClient.connected({ port })
        client.socket.on("end", () => client.socket.end())
        client.send(text.replace("Host:", `${header}Host:`))
        await client.closed()
        expect([who, what, client.statuses]).toEqual([who, what, [status]])
        expect(client.received).toContain("connection: close\r\n")
        expect(client.received).toContain("content-type: application/problem+json\r\n")
        expect(JSON.parse(client.received.split("\r\n\r\n")[1] ?? "")).toMatchObject({ status, code })
      }
    }
    // Nothing of them counts for the address: its share has room for two such bodies.
    const timer = { namespace: "good", delay: "1h", callbackUrl: "http://h/" }
    const body = JSON.stringify({ timers: [timer] }).padEnd(createManyBodyBytes, " ")
    const head = headOf("createMany", `Content-Length: ${body.length}\r\n${withKey}`)
    using first = await RawClient.connected({ port })
    using second = await RawClient.connected({ port })
    for (const client of [first, second]) client.send(head + body)
    expect([await first.answers(1), await second.answers(1)]).toEqual([[200], [200]])
  }, 120_000)
})
