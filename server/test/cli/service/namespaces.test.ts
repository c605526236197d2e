// `punctual namespaces`: how operators set and see settings. Secrets go in. Only a new secret comes out, once.
import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { withService } from "../../http/ServiceFixture.ts"
import { requestsTo, rowsOf, run, serviceThatAnswers } from "../CommandFixture.ts"

const settings = {
  namespace: "billing",
  webhookSecrets: [{ fingerprint: "0123456789abcdef" }],
  retryPolicy: {
    maxAttempts: 3,
    initialInterval: "5s",
    backoffMultiplier: 4,
    maxInterval: "8h",
    jitter: 0.2,
    maxDuration: "1d",
  },
  maxPending: 100,
  paused: true,
  pausedSince: "2030-01-01T00:00:00.000Z",
  pauseReason: "a move",
  updatedAt: "2030-01-02T00:00:00.000Z",
}
const plain = { namespace: "trials", webhookSecrets: [], paused: false }
const counts = { pending: { count: 7, capped: false }, dead: { count: 1000, capped: true } }

const secret = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`

const putting = async (args: ReadonlyArray<string>, stdin = "") => {
  await using service = await serviceThatAnswers(() => ({ body: { settings } }))
  const ended = await run(["namespaces", "put", "billing", ...args], { environmentUrl: service.url, stdin })
  return { ...ended, sent: requestsTo(service).map(([, fields]) => fields) }
}

describe("namespaces put", () => {
  test("sends only the given settings", async () => {
    const calls = [
      [["--max-pending", "5", "--max-in-flight", "6"], { maxPending: 5, maxInFlight: 6 }],
      [["--max-pending", "0"], { maxPending: 0 }],
      [
        ["--creates-per-second", "9", "--retry", '{"maxAttempts":2}'],
        { createsPerSecond: 9, retryPolicy: { maxAttempts: 2 } },
      ],
      [["--retry-waits", "1m,1h"], { retryPolicy: { waits: ["1m", "1h"] } }],
      [["--on-dead", "https://h/dead"], { onDead: { type: "webhook", url: "https://h/dead" } }],
      [["--on-dead", '{"type":"event"}'], { onDead: { type: "event" } }],
      [["--reset", "onDead"], { onDead: null }],
      [["--paused"], { paused: true }],
      [["--paused", "--reason", "a move"], { paused: true, pauseReason: "a move" }],
      [["--unpaused"], { paused: false }],
      [["--reset", "maxPending", "--reset=webhookSecrets"], { maxPending: null, webhookSecrets: null }],
      [["--secret", secret(1), "--secret", secret(2)], { webhookSecrets: [secret(1), secret(2)] }],
      [
        ["--secret", secret(1), "--keep-secret", "0123456789abcdef"],
        { webhookSecrets: [secret(1), { fingerprint: "0123456789abcdef" }] },
      ],
    ] as const
    for (const [args, fields] of calls) {
      const { exitCode, sent } = await putting(args)
      expect([args, exitCode, sent]).toEqual([args, 0, [{ namespace: "billing", ...fields }]])
    }
  })

  test("shows the current settings", async () => {
    const { out } = await putting(["--paused"])
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => line.replace(/ {2,}/, "|")),
    ).toEqual([
      "namespace|billing",
      "firing|paused since 2030-01-01T00:00:00.000Z: a move",
      "secrets|fingerprint 0123456789abcdef",
      "retry|3 attempts, 5s times 4 up to 8h, jitter 0.2, for 1d at most",
      "max in flight|the default",
      "max pending|100",
      "creates|no limit",
      "changed at|2030-01-02T00:00:00.000Z",
    ])
  })

  test("reads secrets from a file or from stdin, one a line", async () => {
    using folder = new TemporaryFolder()
    const file = join(folder.path, "secrets")
    writeFileSync(file, `${secret(1)}\n${secret(2)}\n`)
    const both = [{ namespace: "billing", webhookSecrets: [secret(1), secret(2)] }]
    expect((await putting(["--secret-file", file])).sent).toEqual(both)
    expect((await putting(["--secret-file", "-"], `${secret(1)}\r\n\n${secret(2)}`)).sent).toEqual(both)
    expect(await putting(["--secret-file", "-"])).toMatchObject({ exitCode: 1, sent: [] })
    const twice = await putting(["--secret-file", file, "--secret-file", file])
    expect([twice.exitCode, twice.sent]).toEqual([2, []])
    expect(twice.err).toContain("give --secret-file once; the file may have two lines")
  })

  test("makes a new secret each time, and shows it once the service has it", async () => {
    const made = new Set<unknown>()
    for (const args of [["--json"], ["--json", "--secret", secret(1)]]) {
      const { out, sent } = await putting(["--new-secret", ...args])
      const { newSecret, ...rest } = JSON.parse(out)
      expect(rest).toEqual({ settings })
      expect(secretBytes(newSecret)?.length).toBe(32)
      expect(sent).toEqual([{ namespace: "billing", webhookSecrets: [newSecret, ...args.slice(2)] }])
      made.add(newSecret)
    }
    expect(made.size).toBe(2)
    const people = await putting(["--new-secret"])
    expect(people.out).toMatch(/^new secret {5}whsec_\S{44}$/m)
    await using refusing = await serviceThatAnswers(() => ({ status: 503, body: "" }))
    const refused = await run(["namespaces", "put", "billing", "--new-secret", "--url", refusing.url])
    expect([refused.exitCode, refused.out, refused.err.includes("whsec_")]).toEqual([1, "", false])
  })

  test("never repeats a wrong secret", async () => {
    const { exitCode, err, sent } = await putting(["--secret", "whsec_hunter2"])
    expect([exitCode, sent]).toEqual([2, []])
    expect(err).not.toContain("hunter2")
  })

  test("without settings, with too many or with contradictions sends no request", async () => {
    const calls = [
      [],
      ["--paused", "--unpaused"],
      ["--reason", "a move"],
      ["--unpaused", "--reason", "a move"],
      ["--max-pending", "5", "--reset", "maxPending"],
      ["--paused", "--reset", "paused"],
      ["--reset", "namespace"],
      ["--max-pending", "-1"],
      ["--retry", "nonsense"],
      ["--retry-waits", "1m,soon"],
      ["--retry-waits", "1m", "--retry", "{}"],
      ["--on-dead", "{"],
      ["--secret", secret(1), "--secret", secret(2), "--new-secret"],
      ["--secret", secret(1), "--keep-secret", "0123456789abcdef", "--new-secret"],
      ["--secret", secret(1), "--secret", secret(2), "--secret", secret(3)],
    ]
    for (const args of calls) {
      const { exitCode, sent } = await putting(args)
      expect([args, exitCode, sent]).toEqual([args, 2, []])
    }
  })
})

test("namespaces get shows the settings and the counts", async () => {
  await using service = await serviceThatAnswers(() => ({ body: { settings: { ...plain, ...counts } } }))
  const { exitCode, out } = await run(["namespaces", "get", "trials", "--url", service.url])
  expect(exitCode).toBe(0)
  expect(out).toMatch(/^secrets +none: webhooks are not signed$/m)
  expect(out).toMatch(/^pending +7$/m)
  expect(out).toMatch(/^dead letters +1000 or more$/m)
  const json = await run(["namespaces", "get", "trials", "--json", "--url", service.url])
  expect(JSON.parse(json.out)).toEqual({ settings: { ...plain, ...counts } })
})

describe("namespaces list", () => {
  const pages = [
    { namespaces: [{ ...settings, ...counts }], nextCursor: "c1" },
    { namespaces: [{ ...plain, ...counts }] },
  ]
  const paged = () =>
    serviceThatAnswers(({ body }) => ({ body: JSON.parse(body).cursor === "c1" ? pages[1] : pages[0] }))

  test("is a table of one page, or of all pages", async () => {
    await using service = await paged()
    const first = await run(["namespaces", "list", "--url", service.url])
    expect(rowsOf(first.out).map(([name]) => name)).toEqual(["NAMESPACE", "billing"])
    expect(first.err).toContain("--cursor=c1")
    const all = await run(["namespaces", "list", "--all", "--url", service.url])
    expect(rowsOf(all.out)).toEqual([
      ["NAMESPACE", "PENDING", "DEAD", "FIRING", "SECRETS", "MAX PENDING", "MAX IN FLIGHT", "CREATES/S"],
      ["billing", "7", "1000 or more", "paused", "1", "100", "-", "-"],
      ["trials", "7", "1000 or more", "yes", "0", "-", "-", "-"],
    ])
    expect(all.err).toBe("")
  })

  test("passes a prefix on with every page", async () => {
    await using service = await paged()
    await run(["namespaces", "list", "--prefix", "b", "--all", "--url", service.url])
    expect(requestsTo(service)).toEqual([
      ["/namespaces/list", { prefix: "b" }],
      ["/namespaces/list", { prefix: "b", cursor: "c1" }],
    ])
  })

  test("as JSON is the service's page, or with --all one object a line", async () => {
    await using service = await paged()
    const first = await run(["namespaces", "list", "--json", "--limit", "1", "--url", service.url])
    expect(JSON.parse(first.out)).toEqual(pages[0])
    const all = await run(["namespaces", "list", "--json", "--all", "--url", service.url])
    expect(
      all.out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(pages.flatMap<unknown>(({ namespaces }) => namespaces))
  })
})

test("the real service keeps what is set, and forgets what is reset", () =>
  withService({}, async ({ url }) => {
    const namespaces = (...args: ReadonlyArray<string>) =>
      run(["namespaces", ...args], { environmentUrl: url })
    const args = ["--max-pending", "5", "--retry", '{"maxAttempts":3}', "--paused"]
    expect(await namespaces("put", "billing", ...args)).toMatchObject({ exitCode: 0, err: "" })
    const { out } = await namespaces("get", "billing", "--json")
    expect(JSON.parse(out).settings).toMatchObject({
      namespace: "billing",
      maxPending: 5,
      retryPolicy: { maxAttempts: 3 },
      paused: true,
      pending: { count: 0, capped: false },
    })
    expect(rowsOf((await namespaces("list")).out)[1]).toEqual([
      "billing",
      "0",
      "0",
      "paused",
      "0",
      "5",
      "-",
      "-",
    ])
    await namespaces("put", "billing", "--unpaused", "--reset", "maxPending")
    expect((await namespaces("get", "billing")).out).toMatch(/^max pending +the default of the service$/m)
    expect(await namespaces("put", "billing", "--max-in-flight", "0")).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining("maxInFlight must be"),
    })
  }))
