// The URL of a PostgreSQL database: what it must name, and that no message repeats a password.
import { describe, expect, test } from "bun:test"
import { parsePostgresUrl } from "@punctual/sql/postgresUrl"
import { parseUrl, urlShown } from "../../../src/ports/Adapter.ts"
import { allStores } from "../../../src/stores/all.ts"

describe("a store on PostgreSQL", () => {
  test("is named by either of its schemes", () => {
    for (const scheme of ["postgres", "postgresql"]) {
      const url = `${scheme}://ann:p%40w@db/timers?schema=mine`
      expect(parsePostgresUrl(url)).toEqual({ value: "postgres://ann:p%40w@db/timers?schema=mine" })
      const chosen = parseUrl(allStores, url)
      expect("value" in chosen && chosen.value.adapter.name).toBe("postgres")
    }
  })

  test("must be named completely, and a refused URL is not repeated", () => {
    const wrong = [
      "postgres://ann:hunter2@db",
      "postgres://ann:hunter2@db/",
      "postgres://ann:hunter2@/timers",
      "postgres://ann:hunter2",
      "postgres://ann:hun/ter2@db/timers",
      "postgres://ann:hun@ter2@db/timers",
      "postgres://ann:hun?ter2@db/timers",
      "postgres://ann:hun#ter2@db/timers",
      "postgres://ann:hun%ter2@db/timers",
      "postgres://ann:hunter2@db:99999/timers",
      "postgres://ann:hunter2@db/a/b",
      "postgres:ann:hunter2@db/timers",
    ]
    for (const url of wrong) {
      const parsed = parseUrl(allStores, url)
      expect(parsed).toEqual({ problem: expect.stringMatching(/^must /) })
      expect(JSON.stringify(parsed) + urlShown(allStores, url)).not.toMatch(/hun|ter2/)
    }
  })

  test("is shown without credentials, at any place of the URL", () => {
    const shown = (url: string) => urlShown(allStores, url)
    expect(shown("postgres://ann:hunter2@db:5432/timers?schema=mine")).toBe(
      "postgres://…@db:5432/timers?schema=mine",
    )
    expect(shown("postgres://db/timers?password=hunter2")).toBe("postgres://db/timers?…")
    expect(shown("postgres://db/timers?schema=a&password=hunter2")).toBe("postgres://db/timers?schema=a")
    expect(shown("postgres://db/timers?sslmode=verify-ca&sslkey=/etc/secret&schema=a")).toBe(
      "postgres://db/timers?sslmode=verify-ca&schema=a",
    )
    expect(shown("postgres://[::1]:5/timers")).toBe("postgres://[::1]:5/timers")
  })
})
