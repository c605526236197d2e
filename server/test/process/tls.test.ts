// The whole program with TLS: a service whose certificate changes, the commands that call it, and nodes of a cluster.
import { expect, test } from "bun:test"
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeCertificates } from "../../testkit/Certificates.ts"
import { clusterSecret } from "../../testkit/ClusterHarness.ts"
import { eventually } from "../../testkit/eventually.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../testkit/PostgresServer.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const timer = (timerId: string) => ({
  namespace: "shop",
  timerId,
  delay: "1h",
  callbackUrl: "http://127.0.0.1:9/",
})

const created = async (service: ServiceProcess, timerId: string): Promise<number> => {
  const response = await service.fetch("/api/v1/timers/create", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(timer(timerId)),
  })
  await response.text()
  return response.status
}

test("a service serves https, commands reach it, and it uses a new certificate without a restart", async () => {
  using folder = new TemporaryFolder()
  const make = (name: string) => {
    mkdirSync(join(folder.path, name))
    return makeCertificates(join(folder.path, name))
  }
  // As an orchestrator mounts a secret: the files are links into a folder, which is a link itself.
  const [one, other] = [make("one"), make("other")]
  const use = (name: string) => {
    symlinkSync(join(folder.path, name), join(folder.path, "..next"))
    renameSync(join(folder.path, "..next"), join(folder.path, "..data"))
  }
  use("one")
  const settings = {
    TIMER_TLS_CERT_FILE: join(folder.path, "..data", "server.pem"),
    TIMER_TLS_KEY_FILE: join(folder.path, "..data", "server.key"),
  }
  await using service = await ServiceProcess.ready({ folder: folder.path, settings, caFile: one.caFile })
  expect(service.url).toStartWith("https://127.0.0.1:")
  expect(await created(service, "first")).toBe(200)

  const status = (environment: Readonly<Record<string, string>>) =>
    ServiceProcess.command(["timers", "get", "shop", "first", "--url", service.url], environment)
  const trusting = await status({ TIMER_TLS_CA_FILE: one.caFile })
  expect([trusting.code, trusting.stderr]).toEqual([0, ""])
  const doubting = await status({})
  expect(doubting.code).not.toBe(0)
  expect(doubting.stderr).toContain("set TIMER_TLS_CA_FILE to the file of the authority")

  use("other")
  await eventually("the new certificate is in use", async () => {
    const { code } = await status({ TIMER_TLS_CA_FILE: other.caFile })
    return code === 0 ? true : undefined
  })
  await service.untilLogged("The service uses a new certificate.")

  writeFileSync(join(folder.path, "other", "server.pem"), "nonsense")
  await eventually("the log says that the new file is wrong", () =>
    service.hasLogged("so the service keeps the old one: TIMER_TLS_CERT_FILE") ? true : undefined,
  )
  expect((await status({ TIMER_TLS_CA_FILE: other.caFile })).code).toBe(0)
  expect(await service.terminate()).toBe(0)
}, 60_000)

test("a service that listens on loopback refuses requests for other names", async () => {
  using folder = new TemporaryFolder()
  const settings = { TIMER_HTTP_HOSTS: "timers.local" }
  await using service = await ServiceProcess.ready({ folder: folder.path, settings })
  const statusFor = async (host: string) => (await service.fetch("/metrics", { headers: { host } })).status
  expect(await statusFor("evil.test")).toBe(403)
  expect(await statusFor("timers.local")).toBe(200)
  expect(await statusFor("localhost:1")).toBe(200)
})

describePostgres("installed", "a cluster with TLS", () => {
  test("nodes forward calls to each other, and a rolling change from http keeps them together", async () => {
    using folder = new TemporaryFolder()
    const { caFile, certFile, keyFile } = makeCertificates(folder.path)
    await using server = await PostgresServer.start("installed")
    const { url } = server.database()
    const nodeOf = (name: string, hasTls: boolean) =>
      new ServiceProcess({
        folder: folder.path,
        name,
        caFile,
        settings: {
          TIMER_STORE_URL: url,
          TIMER_CLUSTER_SECRET: clusterSecret,
          TIMER_NODE_NAME: name,
          TIMER_TLS_CA_FILE: caFile,
          ...(hasTls ? { TIMER_TLS_CERT_FILE: certFile, TIMER_TLS_KEY_FILE: keyFile } : {}),
        },
      })
    const forwarded = (node: ServiceProcess) =>
      node.metric('timer_forwarded_requests_total{result="answered"}')
    /** Both nodes forward some of these to the other. */
    const bothForward = async (nodes: ReadonlyArray<ServiceProcess>, prefix: string) => {
      for (const [number, node] of nodes.entries()) {
        const before = await forwarded(node)
        let count = 0
        await eventually("the node forwards calls", async () => {
          expect(await created(node, `${prefix}-${number}-${count++}`)).toBe(200)
          return (await forwarded(node)) > before ? true : undefined
        })
      }
    }
    await using plain = nodeOf("node-1", false)
    await using second = nodeOf("node-2", true)
    await Promise.all([plain.start(), second.start()])
    await bothForward([plain, second], "mixed")
    expect(await plain.terminate()).toBe(0)
    await using first = nodeOf("node-1", true)
    await first.start()
    await bothForward([first, second], "tls")
    expect(first.url).toStartWith("https:")
  }, 120_000)
})
