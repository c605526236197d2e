// The console on a service with keys: an administrator's, others that a test makes, and two that have ended.
import { KeyDirectory, type NewKey, type ShownKey } from "@punctual/door/KeyDirectory"
import { Effect } from "effect"
import type { ServiceOptions } from "../../server/test/http/ServiceFixture.ts"
import type { BrowserPage } from "../../server/testkit/Browser.ts"
import { type ConsoleService, withConsole } from "./ConsoleFixture.ts"

export interface ConsoleKeys {
  readonly admin: ShownKey
  readonly expired: ShownKey
  readonly revoked: ShownKey
  make(key: Partial<NewKey>): Promise<ShownKey>
  revoke(id: string): Promise<void>
}

const full: NewKey = { label: "anna", actions: ["*"], namespaces: ["*"], madeBy: "test" }

export const withKeyedConsole = (
  options: ServiceOptions,
  use: (service: ConsoleService, keys: ConsoleKeys) => Promise<void>,
): Promise<void> => {
  let made: ConsoleKeys | undefined
  const before = Effect.gen(function* () {
    const keys = yield* KeyDirectory
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    const nowMs = Date.now()
    const [admin, expired, revoked] = [
      yield* keys.create(full, nowMs),
      yield* keys.create({ ...full, label: "old", expiresAtMs: nowMs - 1_000 }, nowMs),
      yield* keys.create({ ...full, label: "gone" }, nowMs),
    ]
    yield* keys.revoke(revoked.id, nowMs)
    made = {
      admin,
      expired,
      revoked,
      make: (key) => run(keys.create({ ...full, ...key }, nowMs)),
      revoke: async (id) => void (await run(keys.revoke(id, Date.now()))),
    }
  }).pipe(Effect.orDie)
  return withConsole({ ...options, before }, async (service) => {
    if (made === undefined) throw new Error("the keys were not made")
    await use(service, made)
  })
}

/** Signs in as a reader does. */
export const signInWith = async ({ page }: BrowserPage, { text }: Pick<ShownKey, "text">): Promise<void> => {
  await page.getByLabel("API key").fill(text)
  await page.keyboard.press("Enter")
  await page.getByText(/^Signed in as/).waitFor()
}

/** The browser reports each 401 as an error. The page asks for a key instead. */
export const withoutUnauthorized = (troubles: ReadonlyArray<string>): ReadonlyArray<string> =>
  troubles.filter((trouble) => !/401/.test(trouble))
