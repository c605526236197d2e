// The four example programs, against the real service with a manual clock. The fourth is a test itself: the import runs it.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { documentChanged } from "../../examples/debounce.ts"
import "../../examples/remind.test.ts"
import { executableIn } from "../../../harness/fromSource.ts"
import { receiveReminders } from "../../examples/remind.ts"
import { type Charge, receiveCharges } from "../../examples/retryCharge.ts"
import { signedRequest } from "../../src/testing/signedRequest.ts"
import { TestService } from "../../src/testing.ts"
import type { WebhookHandler } from "../../src/webhooks.ts"

setDefaultTimeout(120_000)

const folder = new TemporaryFolder()
const secret = `whsec_${btoa("a secret of thirty-two bytes ...")}`

beforeAll(() => {
  process.env["PUNCTUAL_EXECUTABLE"] = executableIn(folder.path)
})

afterAll(() => {
  delete process.env["PUNCTUAL_EXECUTABLE"]
  folder[Symbol.dispose]()
})

/** A handler of the Fetch API behind a real port. */
const served = async (receive: WebhookHandler) => {
  const server = createServer(async (request, response) => {
    const chunks: Array<Uint8Array> = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    const answer = await receive(
      new Request("http://receiver.test/", { method: "POST", headers, body: Buffer.concat(chunks) }),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe("the examples", () => {
  test("remind: the handler mails the customer of a signed reminder", async () => {
    const mailed: Array<number> = []
    const receive = receiveReminders(secret, async (invoice) => void mailed.push(invoice))
    expect((await receive(await signedRequest({ secret, payload: { invoice: 7 } }))).status).toBe(200)
    expect((await receive(await signedRequest({ payload: { invoice: 8 } }))).status).toBe(401)
    expect(mailed).toEqual([7])
  })

  test("retryCharge: the bank is asked after 1, 3 and 7 days, and then the timer is dead", async () => {
    await using service = await TestService.start()
    await service.admin.namespaces.put({ webhookSecrets: [secret] })
    const asked: Array<string> = []
    await using endpoint = await served(
      receiveCharges(secret, async () => {
        asked.push((await service.now()).toISOString().slice(0, 10))
        return false
      }),
    )
    const payload: Charge = { customer: 42, refusals: 0 }
    await service.punctual.timers.create<Charge>({
      timerId: "charge-42",
      delay: "1s",
      callbackUrl: endpoint.url,
      payload,
    })
    await service.advance("30d")
    const days = asked.map((day) => (Date.parse(day) - Date.parse(asked[0] ?? "")) / 86_400_000)
    expect(days).toEqual([0, 1, 4, 11])
    const timer = await service.punctual.timers.get<Charge>({ timerId: "charge-42" })
    expect(timer).toMatchObject({ state: "dead", reason: "refused", payload: { refusals: 3 } })
    expect(timer.lastAttempt?.answer).toContain("the bank refused 4 times")
  })

  test("debounce: many changes save the document once, 5 s after the last one", async () => {
    await using service = await TestService.start()
    const receiver = await service.receiver()
    for (let change = 0; change < 5; change++) {
      await documentChanged(service.punctual, "a", receiver.url)
      await service.advance("4s")
    }
    expect(receiver.deliveries.length).toBe(0)
    await service.advance("1s")
    expect(receiver.deliveries.map(({ payload }) => payload)).toEqual([{ document: "a" }])
  })
})
