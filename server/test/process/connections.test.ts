// The real service with clients that pipeline, and with clients that open connections and do not finish.
import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { openFilesMax } from "@punctual/http/listener/openFilesMax"
import { createHeadOf, createRequest, getRequest, RawClient } from "@punctual/http/testkit/RawClient"
import { describeUnless } from "../../testkit/describeUnless.ts"
import { eventually } from "../../testkit/eventually.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const withService = async (
  settings: Readonly<Record<string, string>>,
  use: (service: ServiceProcess, port: number) => Promise<void>,
): Promise<void> => {
  using folder = new TemporaryFolder()
  await using service = await ServiceProcess.ready({
    folder: folder.path,
    settings: { TIMER_STORE_URL: "memory:", ...settings },
  })
  await use(service, Number(new URL(service.url).port))
}

const call = async (service: ServiceProcess, path: string, body: object) => {
  const response = await fetch(`${service.url}/api/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return { status: response.status, json: await response.json() }
}

const metric = async (port: number, name: string): Promise<number> => {
  using client = await RawClient.connected({ port, from: "127.0.0.9" })
  client.send(getRequest("/metrics"))
  const text = await eventually("metrics", () =>
    new RegExp(`^${name} (\\d+)$`, "m").test(client.received) ? client.received : undefined,
  )
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1])
}

describe("pipelining", () => {
  test("every request is answered in order: creates, reads, and both, in one piece and in many", () =>
    withService({}, async (service, port) => {
      using creates = await RawClient.connected({ port })
      creates.send(createRequest("a") + createRequest("b"))
      expect(await creates.answers(2)).toEqual([200, 200])
      expect(creates.received.match(/"timerId":"\w"/g)).toEqual(['"timerId":"a"', '"timerId":"b"'])
      expect((await call(service, "timers/count", { namespace: "raw" })).json).toMatchObject({ count: 2 })

      using reads = await RawClient.connected({ port })
      reads.send(getRequest("/health/live") + getRequest("/openapi.json") + getRequest("/health/ready"))
      expect(await reads.answers(3)).toEqual([200, 200, 200])

      using both = await RawClient.connected({ port })
      both.send(createRequest("c") + getRequest("/health/live") + createRequest("c") + getRequest("/nowhere"))
      expect(await both.answers(4)).toEqual([200, 200, 200, 404])

      using pieces = await RawClient.connected({ port })
      pieces.socket.setNoDelay(true)
      const text = createRequest("d") + getRequest("/health/live") + createRequest("e")
      for (let at = 0; at < text.length; at += 31) {
        await new Promise((resolve) => pieces.socket.write(text.slice(at, at + 31), resolve))
      }
      expect(await pieces.answers(3)).toEqual([200, 200, 200])

      using separate = await RawClient.connected({ port })
      separate.send(createRequest("f"))
      separate.send(createRequest("g"))
      expect(await separate.answers(2)).toEqual([200, 200])
      expect((await call(service, "timers/count", { namespace: "raw" })).json).toMatchObject({ count: 7 })
    }))
})

describe("clients that do not finish", () => {
  test("thousands of unfinished bodies do not keep another client from being answered", () =>
    withService(
      { TIMER_MAX_CONNECTIONS_PER_ADDRESS: "10000", TIMER_BODY_TIMEOUT: "4m" },
      async (service, port) => {
        // More than the calls that may run at once, if the system allows it.
        const count = Math.min(4_500, Math.floor((openFilesMax() ?? 1_024) / 3))
        const unfinished: Array<RawClient> = []
        try {
          for (let index = 0; index < count; index++) {
            const client = await RawClient.connected({ port })
            unfinished.push(client.send(`${createHeadOf(900_000)}{"a`))
          }
          await eventually("all are open", async () =>
            (await metric(port, "timer_http_connections")) >= count ? true : undefined,
          )
          expect(
            await call(service, "timers/create", {
              namespace: "other",
              delay: "1h",
              callbackUrl: "http://h/",
            }),
          ).toMatchObject({ status: 200 })
          expect(unfinished.filter(({ received }) => received !== "").length).toBe(0)
        } finally {
          for (const client of unfinished) client[Symbol.dispose]()
        }
      },
    ))

  test("unfinished bodies of twenty addresses use up all room for large bodies, and a prompt body is served", () =>
    withService({ TIMER_BODY_TIMEOUT: "4m" }, async (_, port) => {
      const headOf = (bytes: number) => createHeadOf(bytes).replace("/create ", "/createMany ")
      const unfinished: Array<RawClient> = []
      try {
        for (let number = 2; number < 22; number++) {
          const client = await RawClient.connected({ port, from: `127.0.0.${number}` })
          unfinished.push(client.send(headOf(15_000_000) + " ".repeat(3_500_000)))
        }
        await eventually("there is no room for some of them", () =>
          unfinished.some(({ statuses }) => statuses[0] === 503) ? true : undefined,
        )
        const timer = { namespace: "prompt", delay: "1h", callbackUrl: "http://h/" }
        const body = JSON.stringify({ timers: [timer] }).padEnd(14_000_000)
        // A client repeats what was answered 503.
        await eventually("a prompt body of another address is served", async () => {
          using prompt = await RawClient.connected({ port, from: "127.0.0.40" })
          const [status] = await prompt.send(headOf(body.length) + body).answers(1)
          expect([200, 503, undefined]).toContain(status)
          return status === 200 ? true : undefined
        })
        expect(unfinished.filter(({ statuses }) => statuses.length === 0).length).toBeGreaterThan(0)
      } finally {
        for (const client of unfinished) client[Symbol.dispose]()
      }
    }))

  test("one address cannot take all connections, and its oldest unfinished requests make room", () =>
    withService({ TIMER_MAX_CONNECTIONS_PER_ADDRESS: "20" }, async (service, port) => {
      const unfinished: Array<RawClient> = []
      try {
        for (let index = 0; index < 100; index++) {
          const client = await RawClient.connected({ port })
          unfinished.push(client.send(`${createHeadOf(900_000)}{"a`))
        }
        // The connections of the metrics come from another address.
        expect(await metric(port, "timer_http_connections")).toBeLessThanOrEqual(21)
        const answered = await eventually("a client of the same address is answered", async () => {
          const answer = await call(service, "timers/create", {
            namespace: "other",
            delay: "1h",
            callbackUrl: "http://h/",
          })
          return answer.status === 200 ? answer : undefined
        })
        expect(answered.json).toMatchObject({ result: "created" })
        using other = await RawClient.connected({ port, from: "127.0.0.2" })
        other.send(createRequest("x"))
        expect(await other.answers(1)).toEqual([200])
        const told = unfinished.filter(({ statuses }) => statuses[0] === 503)
        expect(told.length).toBeGreaterThan(0)
        expect(told[0]?.received).toContain('"written":"no"')
      } finally {
        for (const client of unfinished) client[Symbol.dispose]()
      }
    }))

  test("slow headers, and a client that never reads, do not keep another client from being answered", () =>
    withService({}, async (service, port) => {
      const others: Array<RawClient> = []
      try {
        for (let index = 0; index < 200; index++) {
          const slow = await RawClient.connected({ port })
          others.push(slow.send("POST /api/v1/timers/create HTTP/1.1\r\nHost: h\r\nX-Slow: "))
        }
        const silent = await RawClient.connected({ port })
        others.push(silent)
        silent.socket.pause()
        silent.send(getRequest("/openapi.json").repeat(500))
        for (let index = 0; index < 5; index++) {
          expect(
            await call(service, "timers/create", {
              namespace: "other",
              delay: "1h",
              callbackUrl: "http://h/",
            }),
          ).toMatchObject({ status: 200 })
        }
      } finally {
        for (const client of others) client[Symbol.dispose]()
      }
    }))
})

test("a request that is not valid HTTP gets a problem document, and the connection closes", () =>
  withService({}, async (_, port) => {
    const body = '{"namespace":"a"}'
    const wrong: Record<number, string> = {
      400: createRequest("a").replace("Host: localhost", "Host: localhost\r\nHost: other"),
      405: "TRACE / HTTP/1.1\r\nHost: h\r\n\r\n",
      415: `${createHeadOf(body.length).replace("Host:", "Content-Encoding: gzip\r\nHost:")}${body}`,
      505: "GET / HTTP/3.0\r\nHost: h\r\n\r\n",
    }
    for (const [status, text] of Object.entries(wrong)) {
      using client = await RawClient.connected({ port })
      client.socket.on("end", () => client.socket.end())
      client.send(text + getRequest("/health/live"))
      await client.closed()
      expect(client.statuses).toEqual([Number(status)])
      expect(client.received).toContain("content-type: application/problem+json\r\n")
      expect(client.received).toContain("connection: close\r\n")
      expect(JSON.parse(client.received.split("\r\n\r\n")[1] ?? "")).toMatchObject({ status: Number(status) })
    }
  }))

/** Programs that speak HTTP in their own way. Each creates a timer and prints the status. */
const programs: Record<string, readonly [string, (url: string) => ReadonlyArray<string>]> = {
  curl: [
    "curl",
    (url) => [
      "-sS",
      "-w",
      "%{http_code}",
      "-o",
      "/dev/null",
      "-H",
      "content-type: application/json",
      "-H",
      "expect: 100-continue",
      "-d",
      '{"namespace":"n","delay":"1h","callbackUrl":"http://h/"}',
      `${url}/api/v1/timers/create`,
    ],
  ],
  Node: [
    "node",
    (url) => [
      "-e",
      `fetch("${url}/api/v1/timers/create", { method: "POST", headers: { "content-type": "application/json" }, body: '{"namespace":"n","delay":"1h","callbackUrl":"http://h/"}' }).then((r) => r.json().then(() => process.stdout.write(String(r.status))))`,
    ],
  ],
  Python: [
    "python3",
    (url) => [
      "-c",
      `
import http.client, urllib.parse
u = urllib.parse.urlparse("${url}")
c = http.client.HTTPConnection(u.hostname, u.port)
for _ in range(2):
    c.request("POST", "/api/v1/timers/create", body='{"namespace":"n","delay":"1h","callbackUrl":"http://h/"}', headers={"content-type": "application/json"})
    r = c.getresponse()
    r.read()
print(r.status, end="")
`,
    ],
  ],
}
for (const [name, [command, argsOf]] of Object.entries(programs)) {
  const isMissing = spawnSync(command, ["--version"]).status !== 0
  describeUnless(isMissing ? `${command} is not installed` : undefined, `${name} as a client`, () => {
    test("creates a timer", () =>
      withService({}, async ({ url }) => {
        const { stdout, stderr } = spawnSync(command, argsOf(url), { encoding: "utf8" })
        expect([stdout, stderr]).toEqual(["200", ""])
      }))
  })
}
