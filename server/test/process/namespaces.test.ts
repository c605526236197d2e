// Settings of operators, on real services. They survive a kill and are in force on every node within a second. No file
// contains a webhook secret as plain text.
import { Database } from "bun:sqlite"
import { afterAll, beforeAll, expect, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Punctual } from "@punctual/server"
import { Webhook } from "standardwebhooks"
import { ClusterHarness, type ClusterNode } from "../../testkit/ClusterHarness.ts"
import { eventually } from "../../testkit/eventually.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
  readonly body: any
}

const ask = async ({ url }: { readonly url: string }, call: string, body: object): Promise<Answer> => {
  const response = await fetch(`${url}/api/v1/${call}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

interface Received {
  readonly headers: Record<string, string>
  readonly body: string
}

/** A target that keeps requests unchanged. */
const listening = async () => {
  const requests: Array<Received> = []
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk
    })
    request.on("end", () => {
      requests.push({ headers: request.headers as Record<string, string>, body })
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const keyText = () => randomBytes(32).toString("hex")
const secret = `whsec_${randomBytes(32).toString("base64")}`

test("settings and pauses survive a kill, and webhooks are signed while their key is there", async () => {
  using folder = new TemporaryFolder()
  await using target = await listening()
  const [oldKey, newKey] = [keyText(), keyText()]
  const withKey = (key: string | undefined) =>
    ServiceProcess.ready({
      folder: folder.path,
      settings: key === undefined ? {} : { TIMER_SECRET_KEY: key },
    })
  const fireNow = (service: ServiceProcess, timerId: string) =>
    ask(service, "timers/create", {
      namespace: "shop",
      timerId,
      delay: "0s",
      callbackUrl: target.url,
      payload: { timerId },
    })
  const arrived = (count: number) =>
    eventually(`${count} webhooks`, () => (target.requests.length >= count ? true : undefined))
  const lastVerified = () => {
    const { headers, body } = target.requests.at(-1) ?? { headers: {}, body: "" }
    return new Webhook(secret).verify(body, headers) as { readonly timerId: string }
  }

  {
    await using service = await withKey(oldKey)
    const set = {
      namespace: "shop",
      webhookSecrets: [secret],
      retryPolicy: { maxAttempts: 4 },
      maxPending: 3,
      paused: true,
    }
    expect((await ask(service, "namespaces/put", set)).status).toBe(200)
    expect((await ask(service, "service/pause", { reason: "a test" })).status).toBe(200)
    expect((await fireNow(service, "kept")).status).toBe(200)
    await service.kill9()
  }
  for (const file of readdirSync(folder.path)) {
    const bytes = readFileSync(join(folder.path, file))
    expect(bytes.includes(secret.slice(6)) || bytes.includes(Buffer.from(secret.slice(6), "base64"))).toBe(
      false,
    )
  }
  {
    await using service = await withKey(oldKey)
    await service.untilLogged("the service has been paused since")
    const { settings } = (await ask(service, "namespaces/get", { namespace: "shop" })).body
    expect(settings).toMatchObject({
      maxPending: 3,
      paused: true,
      retryPolicy: { maxAttempts: 4 },
      pending: { count: 1 },
    })
    expect(settings.webhookSecrets).toEqual([{ fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) }])
    await ask(service, "namespaces/put", { namespace: "shop", paused: false })
    expect((await ask(service, "service/get", {})).body.pause).toMatchObject({
      kind: "asked",
      reason: "a test",
    })
    const { body: shown } = await ask(service, "service/get", { settings: true })
    expect(shown.build.version).toMatch(/^\d/)
    expect(shown.settings).toContainEqual({ name: "TIMER_SECRET_KEY", value: "…", isSet: true })
    expect(shown.settings).toContainEqual({ name: "TIMER_SHARDS", value: "16", isSet: false })
    expect(JSON.stringify(shown)).not.toContain(oldKey)
    expect(target.requests).toEqual([])
    await ask(service, "service/resume", {})
    await arrived(1)
    expect(lastVerified().timerId).toBe("kept")
    expect(service.logs.join("\n")).not.toContain(oldKey)
    await service.terminate()
  }
  {
    await using service = await withKey(undefined)
    await service.untilLogged("cannot be opened")
    expect(await service.metric("timer_sealed_namespaces")).toBe(1)
    const refused = await ask(service, "namespaces/put", { namespace: "other", webhookSecrets: [secret] })
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ pointer: "/webhookSecrets" }] } })
    await fireNow(service, "waiting")
    // Other namespaces continue. Webhooks that cannot be signed wait, and use no attempt.
    const other = { namespace: "other", timerId: "o", delay: "0s", callbackUrl: target.url }
    expect((await ask(service, "timers/create", other)).status).toBe(200)
    await arrived(2)
    expect(JSON.parse(target.requests.at(-1)?.body ?? "").timerId).toBe("o")
    const waiting = await ask(service, "timers/get", { namespace: "shop", timerId: "waiting" })
    expect(waiting.body.timer).toMatchObject({
      state: "pending",
      attempts: 0,
      waiting: { reason: "sealed", detail: expect.stringContaining("TIMER_SECRET_KEY") },
    })
    // Without a broker nobody takes events in this process.
    const event = { namespace: "other", timerId: "event", delay: "0s", target: { type: "event" } }
    const created = await ask(service, "timers/create", event)
    expect(created).toMatchObject({
      status: 200,
      body: {
        warnings: [
          "the timer will wait: Nobody subscribes to DueTimeReached. Events need a broker, but TIMER_BROKER_URL is local:",
        ],
      },
    })
    const reason = await eventually("the event waits", async () => {
      const { body } = await ask(service, "timers/get", { namespace: "other", timerId: "event" })
      return body.timer.waiting?.reason
    })
    expect(reason).toBe("noSubscriber")
    await service.terminate()
  }
  {
    await using service = await withKey(newKey)
    expect(await service.metric("timer_sealed_namespaces")).toBe(1)
    // New secrets are sealed by the current key, and waiting timers start.
    await ask(service, "namespaces/put", { namespace: "shop", webhookSecrets: [secret] })
    await arrived(3)
    expect(lastVerified().timerId).toBe("waiting")
    await service.terminate()
  }
  {
    await using service = await withKey(`${keyText()},${newKey}`)
    await fireNow(service, "rotated")
    await arrived(4)
    expect(lastVerified().timerId).toBe("rotated")
    await service.terminate()
  }
}, 60_000)

test("settings that cannot be read stop only their own namespace, until they are set again", async () => {
  using folder = new TemporaryFolder()
  await using target = await listening()
  const create = (service: ServiceProcess, namespace: string) =>
    ask(service, "timers/create", { namespace, timerId: "t", delay: "0s", callbackUrl: target.url })
  const arrived = (count: number) =>
    eventually(`${count} webhooks`, () => (target.requests.length >= count ? true : undefined))
  const namespaceOf = (request: Received | undefined) => JSON.parse(request?.body ?? "{}").namespace
  {
    await using service = await ServiceProcess.ready({ folder: folder.path })
    for (const namespace of ["shop", "zoo"])
      await ask(service, "namespaces/put", { namespace, maxPending: 5 })
    await service.terminate()
  }
  const files = readdirSync(folder.path).filter((file) => file.endsWith(".db"))
  expect(files).toHaveLength(1)
  {
    using database = new Database(join(folder.path, files[0] ?? ""))
    database.run("UPDATE documents SET json = substr(json, 1, 5) WHERE id = 'shop'")
  }
  {
    await using service = await ServiceProcess.ready({ folder: folder.path })
    await service.untilLogged("the settings of shop cannot be read")
    expect(await service.metric('timer_store_unreadable{what="settings"}')).toBe(1)
    expect((await create(service, "shop")).status).toBe(200)
    expect((await create(service, "zoo")).status).toBe(200)
    await arrived(1)
    expect(namespaceOf(target.requests[0])).toBe("zoo")
    const listed = (await ask(service, "namespaces/list", {})).body.namespaces
    expect(listed).toMatchObject([
      { namespace: "shop", paused: true, pending: { count: 1 } },
      { namespace: "zoo", paused: false, maxPending: 5 },
    ])
    await ask(service, "namespaces/put", { namespace: "shop", maxPending: 6, paused: false })
    await arrived(2)
    expect(namespaceOf(target.requests[1])).toBe("shop")
    expect(await service.metric('timer_store_unreadable{what="settings"}')).toBe(0)
    await service.terminate()
  }
}, 60_000)

test("a program that contains the engine also signs, and sends nothing unsigned", async () => {
  using folder = new TemporaryFolder()
  await using target = await listening()
  const secretKey = keyText()
  {
    const settings = { TIMER_SECRET_KEY: secretKey }
    await using service = await ServiceProcess.ready({ folder: folder.path, settings })
    expect(
      (await ask(service, "namespaces/put", { namespace: "shop", webhookSecrets: [secret] })).status,
    ).toBe(200)
    await service.terminate()
  }
  const store = `sqlite:${ServiceProcess.databaseIn(folder.path)}`
  const timer = { namespace: "shop", delay: "0s", callbackUrl: target.url }
  {
    await using punctual = await Punctual.open({ store, log: "none" })
    const key = { namespace: "shop", timerId: "waiting" }
    await punctual.create({ ...timer, ...key })
    await punctual.create({ ...timer, namespace: "other", timerId: "o" })
    await eventually("another webhook", () => target.requests[0])
    expect((await punctual.get(key)).timer).toMatchObject({ state: "pending", attempts: 0 })
    await punctual.cancel(key)
  }
  await using punctual = await Punctual.open({ store, secretKey, log: "none" })
  await punctual.create({ ...timer, timerId: "signed" })
  const { headers, body } = await eventually("a signed webhook", () => target.requests[1])
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({ timerId: "signed" })
}, 60_000)

describePostgres("installed", "a cluster of two", () => {
  let cluster: ClusterHarness
  beforeAll(async () => {
    cluster = await ClusterHarness.start({ nodes: 2, settings: { TIMER_SECRET_KEY: keyText() } })
  }, 60_000)
  afterAll(() => cluster[Symbol.asyncDispose]())

  /** Another test shows on a virtual clock that it takes at most a second: test/engine/NamespaceDirectory.test.ts. */
  const soon = (what: string, isSo: () => Promise<boolean>) =>
    eventually(what, async () => ((await isSo()) ? true : undefined), 10_000)

  const attemptsOn = async (node: ClusterNode, namespace: string, timerId: string) => {
    const timer = { namespace, timerId, delay: "1h", callbackUrl: cluster.receiver.url }
    return (await ask(node, "timers/create", timer)).body.timer.retryPolicy.maxAttempts
  }

  test("has one node's settings on the other", async () => {
    const [a, b] = [cluster.node(1), cluster.node(2)]
    await ask(a, "namespaces/put", { namespace: "policy", retryPolicy: { maxAttempts: 3 } })
    expect(await attemptsOn(a, "policy", "on-a")).toBe(3)
    let number = 0
    await soon("the policy is known", async () => (await attemptsOn(b, "policy", `b-${number++}`)) === 3)
    const [onA, onB] = await Promise.all(
      [a, b].map((node) => ask(node, "namespaces/get", { namespace: "policy" })),
    )
    expect(onA).toEqual(onB as Answer)
  })

  test("fires on neither node after one has paused it, and on both after the other has resumed it", async () => {
    const [a, b] = [cluster.node(1), cluster.node(2)]
    await ask(a, "namespaces/put", { namespace: "paused", paused: true })
    // Both nodes have read the store by then.
    await Promise.all(
      [a, b].map((node) =>
        soon("it is known", async () => (await node.process.metric("timer_paused_namespaces")) === 1),
      ),
    )
    const timers = Array.from({ length: 40 }, (_, index) => ({
      namespace: "paused",
      timerId: `t-${index}`,
      delay: "0s",
      callbackUrl: cluster.receiver.url,
    }))
    expect((await ask(a, "timers/createMany", { timers })).status).toBe(200)
    const firedOf = () => cluster.receiver.deliveries.filter(({ key }) => key.namespace === "paused").length
    await ask(a, "timers/create", {
      namespace: "others",
      timerId: "o",
      delay: "1s",
      callbackUrl: cluster.receiver.url,
    })
    await cluster.receiver.until("another namespace fires", (all) =>
      all.some(({ key }) => key.namespace === "others"),
    )
    expect(firedOf()).toBe(0)
    await ask(b, "namespaces/put", { namespace: "paused", paused: false })
    await soon("all have fired", async () => firedOf() === timers.length)
  })
})
