// Payloads come back byte for byte over HTTP, even where a JSON parser would change them.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"
import { oddPayload } from "../../testkit/oddPayload.ts"
import { succeeded } from "./answers.ts"
import { withService } from "./ServiceFixture.ts"

const head = '"namespace":"n","executeAt":"2031-01-01T00:00:00Z","callbackUrl":"https://example.com/hook"'
const changed = `[ ${oddPayload} ]`

const shownIn = (text: string, payload: string) => text.includes(`"payload":${payload},`)

test("a payload that was created, changed, or one of many is shown as it was sent", () =>
  withService({}, async ({ call }) => {
    // The last of two payloads counts, and its key may be escaped.
    succeeded(
      "create",
      await call("create", `{${head},"timerId":"a","payload":0, "p\\u0061yload" :${oddPayload} }`),
    )
    const many = `{"timers":[ {${head},"timerId":"b"}, {"payload": ${oddPayload},${head},"timerId":"c"} ]}`
    succeeded("createMany", await call("createMany", many))
    const key = (timerId: string) => ({ namespace: "n", timerId })
    expect((await call("get", key("a"))).text).toSatisfy((text: string) => shownIn(text, oddPayload))
    expect((await call("get", key("b"))).json.timer).not.toHaveProperty("payload")
    expect((await call("get", key("c"))).text).toSatisfy((text: string) => shownIn(text, oddPayload))
    succeeded("update", await call("update", `{"namespace":"n","timerId":"a","payload":${changed}}`))
    const { text } = await call("list", { namespace: "n", idPrefix: "a", include: ["payload"] })
    expect(text).toSatisfy((listed: string) => shownIn(listed, changed))
    succeeded("update", await call("update", { ...key("a"), payload: null }))
    expect((await call("get", key("a"))).json.timer).not.toHaveProperty("payload")
    // In a create, null is a payload like any other.
    succeeded("create", await call("create", `{${head},"timerId":"d","payload": null}`))
    expect((await call("get", key("d"))).json.timer.payload).toBeNull()
  }))

test("a deliverer gets the bytes that were sent", async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const deliver = (fire: Fire) =>
    Effect.sync((): Delivery => {
      resolve(new TextDecoder().decode(fire.payload))
      return { kind: "delivered", status: 200 }
    })
  await withService({ deliver }, async ({ call }) => {
    succeeded("create", await call("create", `{${head.replace("2031", "2021")},"payload":${oddPayload}}`))
    expect(await promise).toBe(oddPayload)
  })
})
