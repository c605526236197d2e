// Large bodies whose form makes parsing slow hold up nobody: while they are refused, other calls are answered and timers
// fire, and memory stays bounded.
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { describeUnless } from "../../testkit/describeUnless.ts"
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
