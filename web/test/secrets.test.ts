// Webhook secrets in the console: made in the browser, shown once, rotated and removed.
import { expect, setDefaultTimeout, test } from "bun:test"
import { createHash } from "node:crypto"
import { secretBytes } from "@punctual/api/WebhookSecret"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { type ConsoleService, openConsole, phone, withConsole } from "./ConsoleFixture.ts"
import { untilNoDialog } from "./focused.ts"

setDefaultTimeout(60_000)

const secretKeys = [new Uint8Array(32).fill(1)]

const fingerprintsOf = async ({ post }: ConsoleService) => {
  const { settings } = (await post("namespaces/get", { namespace: "billing" })).json
  return settings.webhookSecrets.map(({ fingerprint }: { fingerprint: string }) => fingerprint)
}

const fingerprintOf = (secret: string): string =>
  createHash("sha256")
    .update(secretBytes(secret) ?? "")
    .digest("hex")
    .slice(0, 16)

/** Goes through the dialog, and returns the secret that it showed. */
const make = async (page: Page, [open, go]: readonly [open: string, go: string]): Promise<string> => {
  await page.getByRole("button", { name: open }).click()
  await page.getByRole("button", { name: go }).click()
  await page.getByRole("heading", { name: "The new secret" }).waitFor()
  await page.getByRole("button", { name: "Copy the secret" }).click()
  await page.getByRole("button", { name: "Copied" }).waitFor()
  const shown = (await page.locator(".secret-text code").textContent()) ?? ""
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(shown)
  await page.getByRole("button", { name: "I have stored it" }).click()
  return shown
}

describeBrowser("webhook secrets", (browser) => {
  test("are made in the browser, shown once, rotated two at a time, and removed", () =>
    withConsole({ secretKeys }, async (service) => {
      await using opened = await openConsole(browser(), service, "namespace?name=billing")
      const { page } = opened
      const first = await make(page, ["Make a secret", "Make the secret"])
      expect(secretBytes(first)?.length).toBe(32)
      await page.getByText(fingerprintOf(first)).waitFor()
      expect(await page.content()).not.toContain(first.slice(6))
      const second = await make(page, ["Rotate", "Make a new secret"])
      expect(second).not.toBe(first)
      await page.getByText("A rotation is under way").waitFor()
      expect(await fingerprintsOf(service)).toEqual([fingerprintOf(second), fingerprintOf(first)])
      expect(await page.getByRole("button", { name: "Rotate" }).count()).toBe(0)
      await page.getByRole("button", { name: `Remove the secret ${fingerprintOf(first)}` }).click()
      await page.getByText("signed only with the other secret").waitFor()
      await page.getByRole("button", { name: "Remove", exact: true }).click()
      await page.getByRole("button", { name: "Rotate" }).waitFor()
      expect(await fingerprintsOf(service)).toEqual([fingerprintOf(second)])
      await page.getByRole("button", { name: `Remove the secret ${fingerprintOf(second)}` }).click()
      await page.getByText("It is the only secret.").waitFor()
      await page.getByRole("button", { name: "Remove", exact: true }).click()
      await page.getByText("Webhooks of this namespace are not signed.").waitFor()
      expect(await fingerprintsOf(service)).toEqual([])
      expect(await opened.troubles()).toEqual([])
    }))

  test("are not closed by mistake, and the page tells of a new sealing key", () =>
    withConsole({ secretKeys }, async (service) => {
      await using opened = await openConsole(browser(), service, "namespace?name=billing", phone)
      const { page } = opened
      await page.route("**/namespaces/put", async (route) => {
        const response = await route.fetch()
        const madeSealingKey = { file: "/data/punctual.db.secret-key" }
        await route.fulfill({ response, json: { ...(await response.json()), madeSealingKey } })
      })
      await page.getByRole("button", { name: "Make a secret" }).focus()
      await page.keyboard.press("Enter")
      await page.getByRole("button", { name: "Make the secret" }).focus()
      await page.keyboard.press("Enter")
      await page.getByText("/data/punctual.db.secret-key").waitFor()
      await page.keyboard.press("Escape")
      await page.getByText("Have you stored the secret?").waitFor()
      expect(await page.locator(".secret-text code").textContent()).toStartWith("whsec_")
      await page.keyboard.press("Escape")
      await page.getByRole("button", { name: "Rotate" }).waitFor()
      await untilNoDialog(page)
      expect(await opened.troubles()).toEqual([])
    }))

  test("that the service cannot seal are refused with the reason", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "namespace?name=billing")
      const { page } = opened
      await page.getByRole("button", { name: "Make a secret" }).click()
      await page.getByRole("button", { name: "Make the secret" }).click()
      await page
        .getByRole("alert")
        .getByText(/TIMER_SECRET_KEY/)
        .waitFor()
      await page.keyboard.press("Escape")
      expect(await fingerprintsOf(service)).toEqual([])
    }))
})
