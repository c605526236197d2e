// The service as an operator sees it: a process with settings, output, signals and an exit code.
import { describe, expect, test } from "bun:test"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import manifest from "../package.json" with { type: "json" }
import { eventually } from "../testkit/eventually.ts"
import { ServiceProcess } from "../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../testkit/TemporaryFolder.ts"

const mainFile = fileURLToPath(new URL("../../app/src/main.ts", import.meta.url))

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command until it ends by itself, with only these settings. */
const run = (args: ReadonlyArray<string>, settings: Record<string, string> = {}): Promise<Ended> => {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("TIMER_"))
  const child: ChildProcess = spawn(process.execPath, [mainFile, ...args], {
    env: { ...Object.fromEntries(inherited), TIMER_HTTP_PORT: "0", TIMER_STORE_URL: "memory:", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let stdout = ""
  let stderr = ""
  child.stdout?.on("data", (chunk) => (stdout += chunk))
  child.stderr?.on("data", (chunk) => (stderr += chunk))
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })))
}

/** What a start writes to stdout. The service is stopped right after. */
const saidAtStart = async (settings: Record<string, string>): Promise<string> => {
  const child = spawn(process.execPath, [mainFile], {
    env: { ...process.env, TIMER_HTTP_PORT: "0", ...settings },
    stdio: ["ignore", "pipe", "ignore"],
  })
  const exited = new Promise<void>((resolve) => child.on("exit", () => resolve()))
  let stdout = ""
  child.stdout.on("data", (chunk) => (stdout += chunk))
  try {
    // The text is written at once, as a whole.
    return await eventually("the start-up text", () => (stdout === "" ? undefined : stdout))
  } finally {
    child.kill("SIGTERM")
    await exited
  }
}

/** One line, for people, that names what to fix. */
const failsWith = (ended: Ended, ...words: ReadonlyArray<string>) => {
  expect(ended.stderr.trimEnd().split("\n")).toEqual([expect.stringMatching(/^punctual: .+/)])
  for (const word of words) expect(ended.stderr).toContain(word)
  expect([ended.code, ended.stdout]).toEqual([1, ""])
}

const onSqlite = (path: string) => ({ TIMER_STORE_URL: `sqlite:${path}` })

const create = (url: string, callbackUrl: string, delay = "1h", timerId = "one") =>
  fetch(`${url}/api/v1/timers/create`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ namespace: "serve", timerId, delay, callbackUrl }),
  })

const get = (url: string) =>
  fetch(`${url}/api/v1/timers/get`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ namespace: "serve", timerId: "one" }),
  })

describe("the command", () => {
  test("prints its version and its settings", async () => {
    const line = `punctual ${manifest.version} (from source)\n`
    expect(await run(["--version"])).toEqual({ code: 0, stdout: line, stderr: "" })
    const { stdout: json } = await run(["--version", "--json"])
    expect(JSON.parse(json)).toEqual({ version: manifest.version, commit: null, builtAt: null })
    const { code, stdout } = await run(["serve", "--help"])
    expect([code, stdout]).toEqual([0, expect.stringContaining("TIMER_HTTP_PORT")])
  })

  test("answers unknown words with where its help is and exit code 2", async () => {
    for (const args of [["sevre"], ["serve", "--port", "1"]]) {
      const { code, stdout, stderr } = await run(args)
      expect([code, stdout]).toEqual([2, ""])
      expect(stderr).toMatch(/^punctual.* See punctual.* --help\.\n$/)
    }
  })
})

describe("a start", () => {
  test("says where it listens, where its data is and what to try, and that example works unchanged", async () => {
    using folder = new TemporaryFolder()
    const settings = { TIMER_STORE_URL: "memory:", TIMER_HTTP_PORT: "0" }
    const child = spawn(process.execPath, [mainFile], {
      env: { ...process.env, ...settings },
      cwd: folder.path,
      stdio: ["ignore", "pipe", "pipe"],
    })
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (chunk) => (stdout += chunk))
    child.stderr.on("data", (chunk) => (stderr += chunk))
    const exited = new Promise<number | null>((resolve) => child.on("exit", resolve))
    try {
      await eventually("the start-up text", () => stdout.includes("-d '") || undefined)
      const url = /listens on (http:\/\/127\.0\.0\.1:\d+)\n/.exec(stdout)?.[1]
      const [, body] = /-d '(.*)'/.exec(stdout) ?? []
      expect(stdout).toContain("in memory")
      // The port is not the one that commands try first.
      expect(stdout).toContain(`export TIMER_URL=${url}\n`)
      const answered = await fetch(`${url}/api/v1/timers/create`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: body ?? "",
      })
      expect(answered.status).toBe(200)
      // Here the logs are for machines: every line of stderr is an object with a level.
      await eventually("the settings in the log", () => stderr.includes("settings in force") || undefined)
      for (const line of stderr.trimEnd().split("\n")) expect(JSON.parse(line)).toHaveProperty("level")
    } finally {
      child.kill("SIGTERM")
    }
    expect(await exited).toBe(0)
  })

  test("shows no example that its egress refuses, and none while nothing fires", async () => {
    const refusing = await saidAtStart({ TIMER_STORE_URL: "memory:", TIMER_EGRESS: "public" })
    expect(refusing).not.toContain("curl")
    expect(refusing).toContain(
      "Timers cannot call 127.0.0.1. To try them with  npm run listen  start with TIMER_EGRESS='public,loopback'\n",
    )
    const allowing = await saidAtStart({ TIMER_STORE_URL: "memory:", TIMER_EGRESS: "public,127.0.0.1" })
    expect(allowing).toContain("curl")
    using folder = new TemporaryFolder()
    await using service = await ServiceProcess.ready({ folder: folder.path })
    const paused = await ServiceProcess.command(["pause"], { TIMER_URL: service.url })
    expect(paused.code).toBe(0)
    expect(await service.terminate()).toBe(0)
    const atRest = await saidAtStart(onSqlite(ServiceProcess.databaseIn(folder.path)))
    expect(atRest).not.toContain("curl")
    expect(atRest).toContain("Nothing fires: the service is paused.")
  })

  test("on a busy port ends with one line", async () => {
    const busy: Server = createServer()
    await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve))
    const { port } = busy.address() as AddressInfo
    failsWith(await run(["serve"], { TIMER_HTTP_PORT: String(port) }), `Port ${port}`, "TIMER_HTTP_PORT")
    busy.close()
  })

  test("on a host that is not of this machine ends with one line that says so", async () => {
    const started = (host: string) => run([], { TIMER_HTTP_HOST: host })
    failsWith(await started("nosuch.invalid"), "nosuch.invalid cannot be resolved", "TIMER_HTTP_HOST")
    failsWith(await started("192.0.2.1"), "192.0.2.1 is not an address of this machine", "TIMER_HTTP_HOST")
  })

  test("with wrong or misspelt settings ends with a line for each", async () => {
    failsWith(await run([], { TIMER_HTTP_PROT: "1" }), "did you mean TIMER_HTTP_PORT")
    failsWith(await run([], { TIMER_BROKER_URL: "stomp://h" }), "TIMER_BROKER_URL")
    failsWith(await run([], { TIMER_CLOCK: "sundial" }), "TIMER_CLOCK")
    const { code, stderr } = await run([], { TIMER_LOG: "loud", TIMER_SHARDS: "0" })
    expect([code, stderr.trimEnd().split("\n").length]).toEqual([1, 2])
  })

  test("on data that it cannot use ends with one line, and does not change the data", async () => {
    using folder = new TemporaryFolder()
    const notADatabase = join(folder.path, "text.db")
    writeFileSync(notADatabase, "this is no database, but it is long enough to look like one\n".repeat(100))
    failsWith(await run([], onSqlite(notADatabase)), notADatabase)
    const inAFile = join(notADatabase, "punctual.db")
    failsWith(await run([], onSqlite(inAFile)), inAFile)
    mkdirSync(join(folder.path, "folder.db"))
    failsWith(await run([], onSqlite(join(folder.path, "folder.db"))), "folder.db")
  })

  test("with another number of shards than the store has is refused", async () => {
    using folder = new TemporaryFolder()
    await using service = await ServiceProcess.ready({ folder: folder.path, settings: { TIMER_SHARDS: "4" } })
    expect(await service.terminate()).toBe(0)
    failsWith(await run([], onSqlite(ServiceProcess.databaseIn(folder.path))), "TIMER_SHARDS")
  })

  test("warns about a name that it does not know, and continues", async () => {
    using folder = new TemporaryFolder()
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      settings: { TIMER_SERVICE_HOST: "x" },
    })
    await service.untilLogged("TIMER_SERVICE_HOST is not a setting")
  })
})

describe("a stop", () => {
  /** A receiver that answers only when it is told to. */
  const slowReceiver = async () => {
    const arrived = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const server = createServer(async (_, response) => {
      arrived.resolve()
      await answer.promise
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    return { server, url: `http://127.0.0.1:${port}/`, arrived: arrived.promise, answer: answer.resolve }
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`by ${signal} lets running attempts finish, answers 503 in the meantime, and exits with 0`, async () => {
      using folder = new TemporaryFolder()
      await using service = await ServiceProcess.ready({ folder: folder.path })
      const receiver = await slowReceiver()
      expect((await create(service.url, receiver.url, "0s")).status).toBe(200)
      await receiver.arrived
      service.signal(signal)
      await eventually("the drain", async () => {
        const answered = await create(service.url, receiver.url, "1h", "probe")
        await answered.body?.cancel()
        return answered.status === 503 && answered.headers.has("retry-after") ? true : undefined
      })
      // Repeated signals change nothing. An attempt still runs.
      service.signal(signal)
      service.signal("SIGTERM")
      expect((await get(service.url)).status).toBe(503)
      expect(await service.statusOf("/health/live")).toBe(200)
      expect(await service.statusOf("/health/ready")).toBe(503)
      expect(await service.statusOf("/metrics")).toBe(200)
      receiver.answer()
      expect(await service.exit).toBe(0)
      receiver.server.close()
      // The delivery was settled before the exit, so a restart finds it finished.
      await service.start()
      const got = await get(service.url)
      expect(await got.json()).toMatchObject({ timer: { state: "delivered", attempts: 1 } })
      expect(await service.terminate()).toBe(0)
    })
  }
})

test("logs identify a call by its correlation id, and never contain a payload, a header or a query string", async () => {
  using folder = new TemporaryFolder()
  await using service = await ServiceProcess.ready({ folder: folder.path, settings: { TIMER_LOG: "trace" } })
  const receiver = createServer((_, response) => response.writeHead(500).end())
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  const { port } = receiver.address() as AddressInfo
  const target = {
    type: "webhook",
    url: `http://127.0.0.1:${port}/hook?token=secret-in-query`,
    headers: { authorization: "secret-in-header" },
  }
  const timer = {
    namespace: "serve",
    delay: "0s",
    target,
    payload: "secret-in-payload",
    correlationId: "order-4711",
  }
  const answered = await fetch(`${service.url}/api/v1/timers/create`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(timer),
  })
  expect(answered.status).toBe(200)
  await eventually("the failed attempt in the log", () =>
    service.logs.some((line) => line.includes("order-4711") && line.includes("500")) ? true : undefined,
  )
  expect(await service.terminate()).toBe(0)
  expect(service.logs.filter((line) => line.includes("secret"))).toEqual([])
  receiver.close()
})

describe("two processes on one file", () => {
  test("the second waits and says so, and takes over when the first is gone", async () => {
    using folder = new TemporaryFolder()
    await using first = await ServiceProcess.ready({ folder: folder.path })
    await using second = new ServiceProcess({ folder: folder.path })
    await second.launch()
    await second.untilLogged("waiting")
    expect(await second.statusOf("/health/ready")).toBe(503)
    expect(await second.statusOf("/health/live")).toBe(200)
    expect(await second.statusOf("/metrics")).toBe(200)
    const refused = await create(second.url, "http://127.0.0.1:9/")
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"])
    expect(await refused.json()).toMatchObject({ code: "ownerUnavailable", written: "no" })
    // A third process, for its output at the start.
    const third = await saidAtStart(onSqlite(ServiceProcess.databaseIn(folder.path)))
    expect(third).toContain("another process owns this data")
    expect(third).not.toContain("Try it")
    await first.kill9()
    await eventually("the takeover", async () =>
      (await second.statusOf("/health/ready")) === 200 ? true : undefined,
    )
    expect((await create(second.url, "http://127.0.0.1:9/")).status).toBe(200)
    expect(await second.terminate()).toBe(0)
  })
})
