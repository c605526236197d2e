// A service whose receivers fail as their address says, for the pages that show dead letters.
import { expect } from "bun:test"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import type { Delivery, Fire } from "../../server/src/ports/Deliverer.ts"
import type { ServiceOptions } from "../../server/test/http/ServiceFixture.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { type ConsoleService, withConsole } from "./ConsoleFixture.ts"

export interface Receivers {
  /** While it is true, everything is delivered. */
  areWell: boolean
}

const deliveryFor = ({ target }: Fire): Delivery =>
  target.type === "webhook" && target.url.endsWith("/gone")
    ? { kind: "dead", reason: "refused", error: "answered 410", status: 410 }
    : { kind: "retry", error: "answered 503", status: 503, isHostFailure: false }

export const withReceivers = (
  use: (service: ConsoleService, receivers: Receivers) => Promise<void>,
  options: ServiceOptions = {},
): Promise<void> => {
  const receivers: Receivers = { areWell: false }
  const deliver = (fire: Fire) =>
    Effect.sync((): Delivery => (receivers.areWell ? { kind: "delivered", status: 200 } : deliveryFor(fire)))
  return withConsole({ deliver, ...options }, (service) => use(service, receivers))
}

export const failing = "http://ledger.test/fail"
export const refusing = "http://crm.test:8080/gone"

export interface Batch {
  readonly namespace: string
  readonly ids: ReadonlyArray<string>
  readonly url?: string
}

export const numbered = (prefix: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => `${prefix}-${String(at).padStart(4, "0")}`)

const createMax = 1_000

export const countOf = async (service: ConsoleService, state: string, namespaces = ["*"]): Promise<number> =>
  (await service.call("count", { namespaces, state })).json.count

/** Creates timers that die, one batch after the other, and waits until they are dead. */
export const makeDead = async (
  service: ConsoleService,
  batches: ReadonlyArray<Batch>,
  headers: Record<string, string> = {},
): Promise<void> => {
  for (const { namespace, ids, url = failing } of batches) {
    const count = async () =>
      (await service.call("count", { namespace, state: "dead" }, headers)).json.count as number
    const before = await count()
    for (let at = 0; at < ids.length; at += createMax) {
      const timers = ids.slice(at, at + createMax).map((timerId) => ({
        namespace,
        timerId,
        delay: "0s",
        callbackUrl: url,
        payload: { timerId },
        retryPolicy: { maxAttempts: 1 },
      }))
      expect((await service.call("createMany", { timers }, headers)).status).toBe(200)
    }
    await eventually("dead letters", async () => ((await count()) === before + ids.length ? true : undefined))
  }
}

/** Keys are in force from here on. */
export const makeKeys = async (
  service: ConsoleService,
): Promise<
  (right: object) => Promise<{ readonly apiKey: string; readonly headers: Record<string, string> }>
> => {
  const make = async (right: object, headers: Record<string, string>) => {
    const { apiKey } = (await service.post("keys/create", right, headers)).json
    return { apiKey, headers: { authorization: `Bearer ${apiKey}` } }
  }
  const admin = await make({ label: "admin", role: "admin" }, {})
  return (right) => make(right, admin.headers)
}

export const signIn = async (page: Page, apiKey: string): Promise<void> => {
  await page.getByLabel("API key").fill(apiKey)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("dialog").waitFor({ state: "detached" })
}
