// The client in a real browser, on a page of another origin than the service.
import { expect, setDefaultTimeout, test } from "bun:test"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describeBrowser } from "@punctual/server/testkit/Browser"
import { withService } from "../../../server/test/http/ServiceFixture.ts"

setDefaultTimeout(120_000)

const source = new URL("../src/", import.meta.url).pathname

/** The client as a script that leaves its parts in `globalThis.client`. */
const bundled = async (): Promise<string> => {
  const entry = "client-of-a-page.ts"
  const built = await Bun.build({
    entrypoints: [entry],
    files: {
      [entry]: `
        import { Punctual } from "${source}index.ts"
        import { verifyWebhook, signWebhook } from "${source}webhooks.ts"
        globalThis.client = { Punctual, verifyWebhook, signWebhook }`,
    },
    target: "browser",
    format: "iife",
    minify: true,
  })
  return (await built.outputs[0]?.text()) ?? ""
}

/** Runs in the page. */
const use = (url: string): string => `(async () => {
  const { Punctual, verifyWebhook, signWebhook } = globalThis.client
  const punctual = new Punctual({ url: "${url}", namespace: "page" })
  const { result, timer } = await punctual.timers.create({ delay: "1h", callbackUrl: "http://127.0.0.1:9/", payload: 1 })
  const ids = []
  for await (const { timerId } of punctual.timers.list()) ids.push(timerId)
  const missing = await punctual.timers.get({ timerId: "missing" }).catch(({ code, written }) => [code, written])
  const lost = await new Punctual({ url: "http://127.0.0.1:9", namespace: "page", maxRetries: 0 }).timers
    .count().catch(({ code, written }) => [code, written])
  const body = new TextEncoder().encode("x")
  const secret = "whsec_" + btoa("a secret of thirty-two bytes ...")
  const timestampSeconds = Math.floor(Date.now() / 1000)
  const signature = await signWebhook({ id: "a", timestampSeconds }, body, secret)
  const headers = new Headers({ "webhook-id": "a", "webhook-timestamp": timestampSeconds, "webhook-signature": signature })
  const finding = await verifyWebhook({ headers, body, secrets: [secret] })
  return { result, isListed: ids.length === 1 && ids[0] === timer.timerId, missing, lost, finding }
})()`

const withOrigin = async (run: (origin: string) => Promise<void>): Promise<void> => {
  const server = createServer((_, response) => response.end("<!doctype html><title>page</title>"))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

describeBrowser("the client in a browser", (browser) => {
  test("creates, lists and explains failures from another origin, and checks signatures", () =>
    withOrigin((origin) =>
      withService({ guard: { corsOrigins: [origin] } }, async ({ url }) => {
        await using opened = await browser().open(origin, { width: 800, theme: "light" })
        await opened.page.evaluate(await bundled())
        expect(await opened.page.evaluate(use(url))).toEqual({
          result: "created",
          isListed: true,
          missing: ["timerNotFound", "no"],
          // A browser does not say whether a connection was refused. A read writes nothing in any case.
          lost: ["connectionLost", "no"],
          finding: "ok",
        })
      }),
    ))
})
