// `punctual health`: the exit code of a probe.
import { describe, expect, test } from "bun:test"
import { withService } from "../../http/ServiceFixture.ts"
import { run, serviceThatAnswers } from "../CommandFixture.ts"

describe("the probe", () => {
  test("succeeds on a real service that can take timers", async () => {
    await withService({}, async ({ url }) => {
      expect(await run(["health", "--url", url])).toEqual({ exitCode: 0, out: "ready\n", err: "" })
      expect(await run(["health", "--live", "--url", url])).toEqual({ exitCode: 0, out: "live\n", err: "" })
      const { out } = await run(["health", "--json", "--url", url])
      expect(JSON.parse(out)).toEqual({ status: "ready" })
    })
  })

  test("fails with the reasons of a service that cannot", async () => {
    const body = { status: "notReady", reasons: ["the store is not open", "it is \u001b[2J starting"] }
    await using service = await serviceThatAnswers(() => ({ status: 503, body }))
    const { exitCode, out, err } = await run(["health", "--url", service.url])
    expect([exitCode, out]).toEqual([1, ""])
    expect(err).toContain("not ready: the store is not open; it is \\u001b[2J starting")
    expect(await run(["health", "--live", "--json", "--url", service.url])).toMatchObject({ exitCode: 1 })
  })

  test("fails if something else answers", async () => {
    await using other = await serviceThatAnswers(() => ({ status: 404, body: "a page" }))
    const { exitCode, err } = await run(["health", "--url", other.url])
    expect(exitCode).toBe(1)
    expect(err).toContain("/health/ready answered 404")
  })

  test("fails if nothing answers", async () => {
    const gone = await serviceThatAnswers(() => ({ body: {} }))
    await gone[Symbol.asyncDispose]()
    const { exitCode, err } = await run(["health", "--url", gone.url])
    expect(exitCode).toBe(1)
    expect(err).toContain("is unreachable")
  })
})
