// `punctual timers activity`: tables for people, JSON for programs.
import { expect, test } from "bun:test"
import { withService } from "../../http/ServiceFixture.ts"
import { run } from "../CommandFixture.ts"

const startMs = Date.parse("2030-01-01T00:00:00Z")
const time = ["--from", "2030-01-01T00:00:00Z", "--until", "2030-01-01T01:00:00Z"]

test("activity shows a row for each step, and with --by how late the busiest were", () =>
  withService({ clockStartMs: startMs }, async ({ url, call, post }) => {
    const callbackUrl = "https://example.com/hook"
    await call("create", { namespace: "billing", timerId: "t", delay: "90s", callbackUrl })
    await post("clock/advance", { by: "5m" })
    const asked = (...args: ReadonlyArray<string>) => run(["timers", "activity", ...args, "--url", url])
    const shown = await asked(...time, "--step", "5m", "--by", "namespace")
    expect([shown.exitCode, shown.err]).toEqual([0, ""])
    expect(shown.out.split("\n").map((line) => line.trim().split(/ {2,}/))).toEqual([
      ["AT", "CREATED", "DELIVERED", "RETRIED", "DEAD", "CANCELLED", "LATE >1S"],
      ["2030-01-01T00:00:00.000Z", "1", "1", "0", "0", "0", "0"],
      [""],
      ["NAME", "FIRST ATTEMPTS", "LATE >1S"],
      ["billing", "1", "0"],
      [""],
    ])
    expect(JSON.parse((await asked("billing", ...time, "--json")).out).points).toEqual([
      { at: "2030-01-01T00:00:00.000Z", created: 1, delivered: 1, retried: 0, dead: 0, cancelled: 0 },
    ])
    expect((await asked("other", ...time)).out).toBe("Nothing happened in this time.\n")
    const wrong = await asked(...time, "--step", "30s")
    expect([wrong.exitCode, wrong.err]).toEqual([1, expect.stringContaining("step must be a duration")])
    // Without flags it shows the last day of the real time.
    expect((await asked()).out).toBe("Nothing happened in this time.\n")
  }))
