// The files of Docker Compose: Compose understands them, they keep the rules of this project, and the service starts with
// their settings and fires timers. No container runs here.
import { expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { AgentProcess } from "@punctual/agent/testkit/AgentProcess"
import { describeNats } from "@punctual/bus/testkit/NatsBinary"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { SQL, YAML } from "bun"
import { allBuses } from "../../../server/src/buses/all.ts"
import { readConfiguration } from "../../../server/src/settings/Configuration.ts"
import { allStores } from "../../../server/src/stores/all.ts"
import { type Container, createdStatus, loopbackSettings } from "../../../server/testkit/ContainerSettings.ts"
import {
  type ComposeProject,
  type ComposeService,
  composeProject,
  describeCompose,
} from "../../../server/testkit/DockerCompose.ts"
import { eventually } from "../../../server/testkit/eventually.ts"
import { describePostgres } from "../../../server/testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../../server/testkit/PostgresServer.ts"
import { Receiver } from "../../../server/testkit/Receiver.ts"
import { ServiceProcess } from "../../../server/testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../../server/testkit/TemporaryFolder.ts"

setDefaultTimeout(120_000)

const deploy = fileURLToPath(new URL("../../../deploy", import.meta.url))
const stores = ["postgres", "mysql", "mariadb", "mongodb", "cassandra", "dynamodb"]
const brokers = ["nats", "rabbitmq", "kafka"]

/** A copy, because setup.sh writes beside the files. */
class ComposeCopy implements Disposable {
  readonly #folder = new TemporaryFolder()
  readonly path = join(this.#folder.path, "deploy/compose")

  constructor() {
    for (const name of ["compose", "prometheus", "grafana"])
      cpSync(join(deploy, name), join(this.#folder.path, "deploy", name), { recursive: true })
  }

  setup(...profiles: ReadonlyArray<string>): void {
    execFileSync("sh", [join(this.path, "setup.sh"), ...profiles], { stdio: ["ignore", "ignore", "pipe"] })
  }

  project(file: string, profiles?: ReadonlyArray<string>): ComposeProject {
    return composeProject(join(this.path, file), profiles)
  }

  secret(name: string): string {
    return readFileSync(join(this.path, "secrets", name), "utf8").trim()
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }
}

const service = ({ services }: ComposeProject, name: string): ComposeService => {
  const found = services[name]
  if (found === undefined) throw new Error(`there is no service ${name}: ${Object.keys(services).join(", ")}`)
  return found
}

const containerOf = (project: ComposeProject, name: string): Container => {
  const { environment = {}, secrets = [] } = service(project, name)
  const files = secrets.map(({ source, target }) => [
    target,
    readFileSync(project.secrets?.[source]?.file ?? "", "utf8"),
  ])
  return { environment, files: Object.fromEntries(files) }
}

test("setup.sh keeps what exists, lets nobody else into the folder, and refuses what it does not know", () => {
  using copy = new ComposeCopy()
  copy.setup()
  const names = ["admin-key", "cluster-secret", "secret-key", "agent-secret-key", "store-password"]
  const before = names.map((name) => copy.secret(name))
  for (const secret of before) expect(secret).toMatch(/^[0-9a-f]{64}$/)
  expect(new Set(before).size).toBe(names.length)
  expect(statSync(join(copy.path, "secrets")).mode & 0o777).toBe(0o700)
  copy.setup("mysql", "kafka")
  expect(names.map((name) => copy.secret(name))).toEqual(before)
  expect(copy.secret("store-url")).toBe(`mysql://punctual:${copy.secret("store-password")}@mysql:3306/timers`)
  const environment = readFileSync(join(copy.path, ".env"), "utf8")
  for (const [given, said] of [
    [["postgres", "mysql"], "choose one store: postgres or mysql"],
    [["nats", "kafka"], "choose one broker: nats or kafka"],
    [["oracle"], "there is no profile oracle"],
  ] as const)
    expect(() => copy.setup(...given)).toThrow(said)
  expect(readFileSync(join(copy.path, ".env"), "utf8")).toBe(environment)
  expect(copy.secret("store-url")).toStartWith("mysql:")
})

describeCompose("Docker Compose", () => {
  test("understands the files: limits, restarts, health checks, ports of this machine only, no secret in the open", () => {
    using copy = new ComposeCopy()
    copy.setup()
    const all = [...stores, ...brokers, "monitoring", "agent"]
    const cluster = copy.project("compose.cluster.yaml", all)
    const secrets = ["admin-key", "cluster-secret", "secret-key", "store-password", "broker-password"]
    for (const project of [copy.project("compose.yaml", ["monitoring"]), cluster]) {
      for (const [name, it] of Object.entries(project.services)) {
        expect([name, it.restart, typeof it.mem_limit]).toEqual([name, "unless-stopped", "string"])
        expect([name, (it.healthcheck?.test ?? []).length > 1]).toEqual([name, true])
        expect([name, (it.ports ?? []).filter(({ host_ip }) => host_ip !== "127.0.0.1")]).toEqual([name, []])
        // A moving tag would change what runs. The image of this project is built by its user.
        if (it.image !== "punctual") expect([name, it.image]).toEqual([name, expect.stringMatching(/:\w/)])
        for (const { type, source } of it.volumes ?? [])
          if (type === "bind") expect([source, existsSync(source)]).toEqual([source, true])
        expect(secrets.filter((secret) => JSON.stringify(it).includes(copy.secret(secret)))).toEqual([])
      }
    }
    for (const name of ["node-1", "node-2", "node-3"]) {
      const node = service(cluster, name)
      expect(node.healthcheck?.test).toEqual(["CMD", "punctual", "health"])
    }
    expect(Object.keys(copy.project("compose.yaml").services)).toEqual(["punctual"])
  })

  test("gives Prometheus the nodes, and Grafana the dashboards and Prometheus", () => {
    using copy = new ComposeCopy()
    copy.setup("monitoring")
    const read = (path: string) => YAML.parse(readFileSync(join(copy.path, "monitoring", path), "utf8"))
    for (const [file, config, nodes] of [
      ["compose.yaml", "prometheus.yaml", ["punctual"]],
      ["compose.cluster.yaml", "prometheus.cluster.yaml", ["node-1", "node-2", "node-3"]],
    ] as const) {
      const project = copy.project(file)
      const targets = nodes.map((name) => `${name}:8080`)
      expect(read(config)).toMatchObject({ scrape_configs: [{ static_configs: [{ targets }] }] })
      for (const name of nodes) expect(service(project, name).image).toBe("punctual")
      const path = "/var/lib/grafana/dashboards"
      expect(read("provisioning/dashboards/punctual.yaml")).toMatchObject({
        providers: [{ options: { path } }],
      })
      const mounts = service(project, "grafana").volumes ?? []
      expect(mounts.filter(({ target }) => target.startsWith(`${path}/`))).toHaveLength(2)
      const url = `http://prometheus:${service(project, "prometheus").ports?.[0]?.target}`
      expect(read("provisioning/datasources/prometheus.yaml")).toMatchObject({ datasources: [{ url }] })
    }
  })

  test("starts the chosen store and broker, and the nodes get settings that name them", () => {
    using copy = new ComposeCopy()
    const pairs = stores.map((store, index) => [store, brokers[index % brokers.length] ?? ""] as const)
    for (const [store, broker] of pairs) {
      copy.setup(store, broker)
      const project = copy.project("compose.cluster.yaml")
      expect(Object.keys(project.services).sort()).toEqual(
        ["node-1", "node-2", "node-3", store, broker].sort(),
      )
      using folder = new TemporaryFolder()
      const settings = loopbackSettings(containerOf(project, "node-1"), { folder: folder.path, replaced: {} })
      const read = readConfiguration(settings, { stores: allStores, buses: allBuses })
      if ("problems" in read) throw new Error(`${store}, ${broker}: ${read.problems.join("\n")}`)
      const { effective } = read
      expect(effective["TIMER_STORE_URL"]).toContain(store)
      expect(effective["TIMER_BROKER_URL"]).toContain(`${broker}:`)
      expect(JSON.stringify(effective)).not.toContain(copy.secret("store-password"))
    }
  })

  test("one node starts with the settings of compose.yaml, makes its key and fires a timer", async () => {
    using copy = new ComposeCopy()
    using folder = new TemporaryFolder()
    const project = copy.project("compose.yaml")
    const image = loopbackSettings(containerOf(project, "punctual"), { folder: folder.path, replaced: {} })
    expect(service(project, "punctual").volumes).toMatchObject([{ source: "data", target: "/data" }])
    // The image has no setting for the store: it is ./data/punctual.db below its working folder, which is the root.
    const settings = { ...image, TIMER_STORE_URL: `sqlite:${join(folder.path, "data/punctual.db")}` }
    expect(Object.keys(image)).not.toContain("TIMER_DB_PATH")
    await using node = await ServiceProcess.ready({ folder: folder.path, settings })
    await using receiver = await Receiver.listening()
    const key = readFileSync(join(folder.path, "data/admin.key"), "utf8").trim()
    expect(await createdStatus(node.url, { timerId: "one", callbackUrl: receiver.url }, key)).toBe(200)
    expect(await createdStatus(node.url, { timerId: "two", callbackUrl: receiver.url }, "wrong")).toBe(401)
    await receiver.until("the timer fires", (deliveries) => deliveries.length === 1)
    expect(await node.terminate()).toBe(0)
  })

  describePostgres("installed", "with PostgreSQL", () => {
    describeNats("and NATS", () => {
      test("three nodes and the agent start with the settings of compose.cluster.yaml, and a timer fires through each", async () => {
        using copy = new ComposeCopy()
        copy.setup("postgres", "nats", "agent", "monitoring")
        const project = copy.project("compose.cluster.yaml")
        await using database = await databaseOf(project, copy.secret("store-password"))
        await using broker = await NatsServer.start({ config: copy.secret("nats-users") })
        using folder = new TemporaryFolder()
        const names = ["node-1", "node-2", "node-3"]
        const replaced = {
          "@postgres:5432": `@${database.host}:${database.port}`,
          "@nats:4222": `@${broker.address}`,
          ...Object.fromEntries(names.map((name) => [`${name}:8080`, "127.0.0.1"])),
        }
        const settingsOf = (name: string) => {
          const own = join(folder.path, name)
          mkdirSync(own)
          return loopbackSettings(containerOf(project, name), { folder: own, replaced })
        }
        await using stack = new AsyncDisposableStack()
        const nodes = names.map((name) => {
          const options = { folder: join(folder.path, name), name, settings: settingsOf(name) }
          return stack.use(new ServiceProcess(options))
        })
        await Promise.all(nodes.map((node) => node.start()))
        await using receiver = await Receiver.listening()
        const key = copy.secret("admin-key")
        for (const [index, { url }] of nodes.entries())
          expect(
            await createdStatus(url, { timerId: `through-${index}`, callbackUrl: receiver.url }, key),
          ).toBe(200)
        await receiver.until("a timer fires through each node", ({ length }) => length === nodes.length)
        const [first] = nodes
        if (first === undefined) throw new Error("there is no node")
        await eventually("the shards are spread over three nodes", async () => {
          const owned = await Promise.all(nodes.map((node) => node.metric("timer_owned_shards")))
          return owned.every((count) => count >= 5) ? true : undefined
        })
        // Prometheus has no key.
        expect(await first.statusOf("/metrics")).toBe(200)
        const [, ...health] = service(project, "node-1").healthcheck?.test ?? []
        expect(health.shift()).toBe("punctual")
        const probed = await ServiceProcess.command(health, { TIMER_URL: first.url })
        expect(probed).toMatchObject({ code: 0, stdout: "ready\n" })
        expect(nodes.flatMap(({ logs }) => logs).filter((line) => line.includes(key))).toEqual([])

        await callThroughAgent(settingsOf("agent"), folder.path, project, receiver)
        expect(await Promise.all(nodes.map((node) => node.terminate()))).toEqual([0, 0, 0])
      })
    })
  })
})

/** The server as compose.cluster.yaml sets it up: a user with a password, and a database of this user. */
const databaseOf = async (project: ComposeProject, password: string): Promise<PostgresServer> => {
  const { POSTGRES_USER: user, POSTGRES_DB: name } = service(project, "postgres").environment ?? {}
  const access = ["host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"]
  const server = await PostgresServer.start("installed", { access })
  await using sql = new SQL({ url: server.url, max: 1 })
  await sql.unsafe(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`)
  await sql.unsafe(`CREATE DATABASE ${name} OWNER ${user}`)
  return server
}

const callThroughAgent = async (
  settings: Readonly<Record<string, string>>,
  folder: string,
  project: ComposeProject,
  receiver: Receiver,
): Promise<void> => {
  const { command } = service(project, "agent")
  const [program, ...args] = command ?? []
  expect(program).toBe("agent")
  const made = await ServiceProcess.command(["keys", "create", "--admin"], settings)
  expect([made.code, made.stderr]).toEqual([0, made.stderr])
  await using agent = await AgentProcess.open({ folder, args, settings })
  const before = receiver.malformed.length
  const response = await fetch(`${agent.url}/api/v1/tenants/demo/service-calls`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${made.stdout.trim()}` },
    body: JSON.stringify({
      serviceCallId: "first",
      request: { method: "POST", url: `${receiver.url}/agent`, body: {} },
    }),
  })
  expect(response.status).toBe(202)
  // The receiver knows only webhooks of timers, so it notes the call as a request of another kind.
  await eventually("the call arrives", () => receiver.malformed.length > before || undefined)
  const probed = await ServiceProcess.command(["health"], { TIMER_URL: agent.url })
  expect(probed).toMatchObject({ code: 0, stdout: "ready\n" })
  expect(await agent.terminate()).toBe(0)
}

test("the files name only dashboards and rules that exist", () => {
  const base = readFileSync(join(deploy, "compose/base.yaml"), "utf8")
  const named = [...base.matchAll(/\.\.\/(\S+?):/g)].map(([, path = ""]) => path)
  expect(named.map((path) => basename(path)).sort()).toEqual([
    "punctual-inside.json",
    "punctual-punctual.json",
    "rules.yaml",
  ])
})
