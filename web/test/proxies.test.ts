// The console where people really open it: by a name on plain http, behind a proxy that changes the host, and behind a
// proxy that ends TLS. Sign-in, calls, the stream and copying must work in each.

import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { AddressRanges } from "@punctual/door/AddressRanges"
import { type BrowserPage, describeBrowser } from "../../server/testkit/Browser.ts"
import { makeCertificates } from "../../server/testkit/Certificates.ts"
import { TemporaryFolder } from "../../server/testkit/TemporaryFolder.ts"
import type { ConsoleService } from "./ConsoleFixture.ts"
import { type ConsoleKeys, signInWith, withKeyedConsole, withoutUnauthorized } from "./KeyedConsole.ts"

setDefaultTimeout(60_000)

const view = { width: 1440, theme: "light" } as const
const loopback = new AddressRanges([["127.0.0.0", 8]])
const key = { namespace: "shop", timerId: "a" }

/** A proxy that calls the service by its own address, and says in headers what the browser asked for. */
const proxyTo = (service: ConsoleService, tls?: { readonly cert: string; readonly key: string }) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    ...(tls === undefined ? {} : { tls }),
    fetch: (request) => {
      const { pathname, search, host, protocol } = new URL(request.url)
      const headers = new Headers(request.headers)
      headers.set("host", new URL(service.url).host)
      headers.set("x-forwarded-host", host)
      headers.set("x-forwarded-proto", protocol.slice(0, -1))
      headers.set("x-forwarded-for", "203.0.113.7")
      return fetch(`${service.url}${pathname}${search}`, {
        method: request.method,
        headers,
        body: request.body,
        redirect: "manual",
        // The proxy passes compressed bytes on as they are.
        decompress: false,
      })
    },
  })

const callAs = (service: ConsoleService, { admin }: ConsoleKeys, name: string, body: object) =>
  service.call(name, body, { authorization: `Bearer ${admin.text}` })

/** Signs in, sees a change by the stream, and copies. */
const usesTheConsole = async (
  opened: BrowserPage,
  service: ConsoleService,
  keys: ConsoleKeys,
): Promise<void> => {
  const { page } = opened
  await signInWith(opened, keys.admin)
  await page.getByRole("heading", { name: /^It is due in 1 h/ }).waitFor()
  await callAs(service, keys, "update", { ...key, delay: "5h" })
  await page.getByRole("heading", { name: /^It is due in 4 h/ }).waitFor()
  await page.getByRole("button", { name: "Copy fire id" }).click()
  await page.getByRole("button", { name: "Copied" }).waitFor()
  await page.getByRole("button", { name: "Fire now" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Fire now" }).click()
  await page.getByRole("heading", { name: "Delivered" }).waitFor()
  expect(withoutUnauthorized(await opened.troubles())).toEqual([])
}

describeBrowser("the console by other addresses", (browser) => {
  const place = "/console/timer?namespace=shop&id=a"

  test("works by a name on plain http, where the browser offers no clipboard", () =>
    withKeyedConsole(
      { guard: { isOnLoopback: true, hosts: [{ name: "timers.test" }] } },
      async (service, keys) => {
        await callAs(service, keys, "create", { ...key, delay: "2h", callbackUrl: "http://h/" })
        await using opened = await browser().open(`http://timers.test:${service.port}${place}`, view)
        expect(await opened.page.evaluate("isSecureContext")).toBe(false)
        await usesTheConsole(opened, service, keys)
      },
    ))

  test("works behind a proxy that changes the host", () =>
    withKeyedConsole({ guard: { trustedProxies: loopback } }, async (service, keys) => {
      await callAs(service, keys, "create", { ...key, delay: "2h", callbackUrl: "http://h/" })
      using proxy = proxyTo(service)
      await using opened = await browser().open(`http://timers.test:${proxy.port}${place}`, view)
      await usesTheConsole(opened, service, keys)
    }))

  test("works behind a proxy that ends TLS, and its cookie is then only for TLS", () =>
    withKeyedConsole({ guard: { trustedProxies: loopback } }, async (service, keys) => {
      await callAs(service, keys, "create", { ...key, delay: "2h", callbackUrl: "http://h/" })
      using folder = new TemporaryFolder()
      const { certFile, keyFile } = makeCertificates(folder.path, "DNS:timers.test")
      using proxy = proxyTo(service, {
        cert: readFileSync(certFile, "utf8"),
        key: readFileSync(keyFile, "utf8"),
      })
      await using opened = await browser().open(`https://timers.test:${proxy.port}${place}`, {
        ...view,
        trustsAllCertificates: true,
      })
      await usesTheConsole(opened, service, keys)
      const [cookie] = await opened.page.context().cookies()
      expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: "Strict" })
    }))

  test("a host that is not allowed is refused", () =>
    withKeyedConsole({ guard: { isOnLoopback: true } }, async (service) => {
      const answer = await service.fetch("/console/", { headers: { host: "evil.test" } })
      expect(answer.status).toBe(403)
    }))
})
