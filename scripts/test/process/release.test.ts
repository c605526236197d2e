// A release as users get it: the packages are installed into an empty folder, and timers are fired through them.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describeCompose } from "../../../server/testkit/DockerCompose.ts"
import { DockerEngine, dockerPrograms } from "../../../server/testkit/DockerEngine.ts"
import { describeNeeding } from "../../../server/testkit/describeUnless.ts"
import { eventually } from "../../../server/testkit/eventually.ts"
import { Receiver } from "../../../server/testkit/Receiver.ts"
import { type Program, ServiceProcess } from "../../../server/testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../../server/testkit/TemporaryFolder.ts"
import { platforms } from "../../release/executables.ts"
import { releaseProblems } from "../../release/releaseChecks.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const releaseWithinMs = 300_000
setDefaultTimeout(releaseWithinMs)

const folder = new TemporaryFolder()
const released = join(folder.path, "released")
const user = join(folder.path, "user")
/** The platform of this machine. Processors without AVX2 can run it, too. */
const platform = platforms.find(
  ({ npm }) => npm?.os === process.platform && npm.cpu === process.arch && npm.libc !== "musl",
)
let printed = ""

const run = (command: string, args: ReadonlyArray<string>, cwd: string): string =>
  execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: releaseWithinMs,
  })

beforeAll(() => {
  if (platform === undefined) throw new Error(`no release for ${process.platform} ${process.arch}`)
  const args = ["scripts/release/main.ts", "--dry-run", "--only", platform.name, "--out", released]
  printed = run(process.execPath, args, root)
  mkdirSync(user)
  writeFileSync(join(user, "package.json"), '{ "private": true, "type": "module" }\n')
  const packages = readdirSync(join(released, "npm")).map((file) => join(released, "npm", file))
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...packages], user)
})

afterAll(() => folder[Symbol.dispose]())

test("the files have correct sums", () => {
  expect(run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], released)).toBe("")
  const listed = readFileSync(join(released, "SHA256SUMS"), "utf8")
  expect(listed).toContain(`  executables/punctual-${platform?.name}\n`)
  expect(listed).toContain("  sbom.cdx.json\n")
})

test("the bill of materials lists what a release contains, and no tools", () => {
  const { components }: { readonly components: ReadonlyArray<{ readonly name: string }> } = JSON.parse(
    readFileSync(join(released, "sbom.cdx.json"), "utf8"),
  )
  const names = components.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(["bun", "effect", "react", "@nats-io/jetstream"]))
  expect(names).not.toContain("typescript")
  expect(names).not.toContain("playwright-core")
})

test("a dry run prints the commands that would publish, the command's package last", () => {
  const commands = printed.split("A release would run:\n")[1]?.trim().split("\n") ?? []
  const published = commands.filter((line) => line.includes("npm publish"))
  expect(published).toHaveLength(readdirSync(join(released, "npm")).length)
  expect(published.at(-1)).toMatch(/npm\/punctual-\d[^/]*\.tgz$/)
})

test("every file that states a version states the same one", () => {
  expect(releaseProblems().filter((problem) => problem.includes("has version"))).toEqual([])
})

test("the npm package starts the service, passes a signal on, and fires a timer", async () => {
  await using receiver = await Receiver.listening()
  const program: Program = { command: "node", args: [join(user, "node_modules/punctual/bin/punctual.mjs")] }
  await using service = await ServiceProcess.ready({ folder: folder.path, program })
  const response = await fetch(`${service.url}/api/v1/timers/create`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      namespace: "packed",
      timerId: "first",
      delay: "100ms",
      callbackUrl: receiver.url,
    }),
  })
  expect(response.status).toBe(200)
  await receiver.until("the timer fires", (deliveries) => deliveries.length === 1)
  expect(await service.terminate()).toBe(0)
})

test("the server inside a program fires a timer that is stored in SQLite", () => {
  const program = `
import { Punctual } from "@punctual/server"
const fired = Promise.withResolvers()
await using punctual = await Punctual.open({ store: "sqlite:./timers.db" })
punctual.on("billing", async ({ timerId, payload }) => fired.resolve({ timerId, payload }))
await punctual.create({ namespace: "billing", timerId: "remind", delay: "100ms", payload: { invoice: 4711 } })
console.log(JSON.stringify(await fired.promise))
`
  writeFileSync(join(user, "program.ts"), program)
  const output = run(process.execPath, ["program.ts"], user)
  expect(JSON.parse(output)).toEqual({ timerId: "remind", payload: { invoice: 4711 } })
})

test("the types of the server and of the contract work in a strict program", () => {
  const program = `
import { CreateTimerAnswer } from "@punctual/api/CreateTimer"
import { Punctual, type TimerFire } from "@punctual/server"
export const open = (): Promise<Punctual> => Punctual.open({ store: "memory:", clock: "manual" })
export const idOf = ({ timerId }: TimerFire): string => timerId
// @ts-expect-error: a store is required
export const wrong = (): Promise<Punctual> => Punctual.open({})
export const schema = CreateTimerAnswer
`
  writeFileSync(join(user, "typed.ts"), program)
  const options = { strict: true, noEmit: true, module: "nodenext", target: "esnext", skipLibCheck: true }
  const typeRoots = [join(root, "node_modules/@types")]
  const compilerOptions = { ...options, types: ["bun"], typeRoots }
  writeFileSync(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["typed.ts"] }))
  expect(run(join(root, "node_modules/.bin/tsc"), ["--project", user], user)).toBe("")
})

test("the contract works in Node", () => {
  const program = 'import { Instant } from "@punctual/api/Instant"\nconsole.log(typeof Instant)\n'
  writeFileSync(join(user, "contract.mjs"), program)
  expect(run("node", ["contract.mjs"], user)).toBe("function\n")
})

const programs = dockerPrograms()

describeNeeding("missing" in programs ? programs.missing : undefined, "the image", () => {
  let engine: DockerEngine

  beforeAll(async () => {
    engine = await DockerEngine.start()
    engine.importBase("base")
    const build = ["build", "--file", join(root, "deploy/docker/Dockerfile"), "--tag", "punctual"]
    engine.docker(
      ...build,
      "--build-arg",
      "BASE=base",
      "--build-arg",
      "VERSION=test",
      join(released, "image"),
    )
  })

  afterAll(() => engine[Symbol.asyncDispose]())

  test("serves, makes the administrator's key, fires a timer, and stops in good order", async () => {
    await using receiver = await Receiver.listening()
    const settings = await hostSettings()
    const flags = Object.entries(settings).flatMap(([name, value]) => ["--env", `${name}=${value}`])
    const places = ["--network", "host", "--volume", "punctual:/data"]
    // The image's own check of its health, more often.
    const often = ["--health-interval", "1s"]
    engine.docker("run", "--detach", "--name", "punctual", ...often, ...places, ...flags, "punctual")
    const inside = (...args: ReadonlyArray<string>) => engine.docker("exec", "punctual", "punctual", ...args)
    await eventually("the service is ready", () => isTrue(() => inside("health") === "ready\n"))
    expect(inside("keys", "admin")).toMatch(/^pnct_\S+\n$/)
    expect(engine.docker("exec", "punctual", "punctual", "--version")).toMatch(/^punctual \d/)
    inside("timers", "create", "demo", "hello", "--delay", "100ms", "--to", `${receiver.url}/hook`)
    await receiver.until("the timer fires", (deliveries) => deliveries.length === 1)
    const state = (format: string) => engine.docker("inspect", "--format", format, "punctual").trim()
    await eventually("Docker sees that it is healthy", () =>
      isTrue(() => state("{{.State.Health.Status}}") === "healthy"),
    )
    expect(state("{{.Config.User}}")).toBe("65532:65532")
    engine.docker("stop", "--time", "30", "punctual")
    expect(state("{{.State.ExitCode}}")).toBe("0")
    // The volume keeps the key and the timers.
    engine.docker("start", "punctual")
    await eventually("the service is ready again", () => isTrue(() => inside("health") === "ready\n"))
    expect(inside("timers", "get", "demo", "hello")).toContain("delivered")
  })

  describeCompose("with Docker Compose", () => {
    test("starts by compose.yaml, is healthy, fires a timer, and keeps its volume", async () => {
      await using receiver = await Receiver.listening()
      const changes = join(folder.path, "compose.override.yaml")
      const services = [
        "services:",
        "  punctual:",
        // Containers use the network of the machine here, so there are no ports to publish and no gateway.
        "    network_mode: host",
        "    ports: !reset []",
        "    extra_hosts: !reset []",
        "    healthcheck: { interval: 1s }",
        `    environment: ${JSON.stringify(await hostSettings())}`,
      ]
      writeFileSync(changes, services.join("\n"))
      const files = ["--file", join(root, "deploy/compose/compose.yaml"), "--file", changes]
      const compose = (...args: ReadonlyArray<string>) => engine.compose(...files, ...args)
      const inside = (...args: ReadonlyArray<string>) =>
        compose("exec", "--no-TTY", "punctual", "punctual", ...args)
      compose("up", "--detach", "--wait")
      inside("timers", "create", "demo", "composed", "--delay", "100ms", "--to", `${receiver.url}/hook`)
      await receiver.until("the timer fires", (deliveries) => deliveries.length === 1)
      const key = inside("keys", "admin")
      compose("down")
      expect(compose("ps", "--all", "--quiet")).toBe("")
      compose("up", "--detach", "--wait")
      expect(inside("keys", "admin")).toBe(key)
      expect(inside("timers", "get", "demo", "composed")).toContain("delivered")
      compose("down", "--volumes")
    })
  })
})

/** A free port: containers share the network of the machine here, so port mapping cannot be tried. */
const hostSettings = async (): Promise<Readonly<Record<string, string>>> => {
  const free = await freePort()
  return {
    TIMER_HTTP_HOST: "127.0.0.1",
    TIMER_HTTP_PORT: String(free),
    TIMER_URL: `http://127.0.0.1:${free}`,
    TIMER_EGRESS: "public,private,loopback",
  }
}

/** True, or undefined if it is false or fails. */
const isTrue = (ask: () => boolean): true | undefined => {
  try {
    return ask() || undefined
  } catch {
    return undefined
  }
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return address !== null && typeof address === "object" ? address.port : 0
}
