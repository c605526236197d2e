// Operators learn in time that keys end.
import { expect, test } from "bun:test"
import { Effect, Logger } from "effect"
import { KeyExpiry } from "../src/KeyExpiry.ts"
import { KnownKeys } from "../src/KnownKeys.ts"

const dayMs = 86_400_000

test("keys that end within 14 days are logged once a day, and revoked or later ones are not", async () => {
  const known = new KnownKeys()
  const add = (id: string, expiresInDays: number, revokedAtMs?: number) =>
    known.take({
      id,
      version: 1,
      record: {
        label: `key ${id}`,
        actions: ["*"],
        namespaces: ["*"],
        secrets: [],
        createdAtMs: 0,
        madeBy: "test",
        expiresAtMs: expiresInDays * dayMs,
        ...(revokedAtMs === undefined ? {} : { revokedAtMs }),
        restores: 0,
      },
    })
  add("soon", 13)
  add("later", 15)
  add("gone", 13, 0)
  add("never", 400)
  const lines: Array<string> = []
  const capture = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  const expiry = new KeyExpiry(known)
  const tell = (nowMs: number) => Effect.runPromise(Effect.provide(expiry.tell(nowMs), capture))
  await tell(0)
  await tell(1_000)
  expect(lines).toEqual(["keys end soon: soon (key soon) at 1970-01-14T00:00:00.000Z. Make new keys in time"])
  await tell(dayMs)
  expect(lines.length).toBe(2)
  expect(lines[1]).toContain("later (key later)")
})
