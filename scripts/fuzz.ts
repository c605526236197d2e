// `npm run fuzz`: sends requests that schemathesis generates from the OpenAPI documents to the service and to the agent. It
// fails on every 5xx and on every answer that the document does not describe. It also fails if the service accepts a request that
// the document forbids, or refuses one that the document allows.
//
// It needs Python 3. The first run installs schemathesis into a virtual environment in the cache folder. Without Python 3
// the run is skipped, and says so; in CI that is a failure.
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Effect, Layer } from "effect"
import { ServiceCaller } from "../agent/src/ports/ServiceCaller.ts"
import { LiveAgent } from "../agent/testkit/LiveAgent.ts"
import { ServiceProcess } from "../server/testkit/ServiceProcess.ts"
import { root } from "./repository.ts"
import { runProgram } from "./runProgram.ts"

const usage = `npm run fuzz -- [options]
  --examples N   requests for each call in the last phase (default 60)
  --seconds N    stop after this time, for each product (default 270)
  --seed N       the seed of the requests (default 1, so that two runs send the same)
  --of PRODUCT   only timer, or only agent
  --only PATH    one call, such as /api/v1/timers/create; it belongs to one product, so give --of, too
  --help         print this text`

const folder = join(root, "scripts", "fuzz")

class Skipped extends Error {}

const whole = (name: string, text: string): string => {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Error(`--${name} ${text} is not a whole number of at least 1\n\n${usage}`)
  return text
}

const asked = () => {
  const { values } = parseArgs({
    options: {
      examples: { type: "string", default: "60" },
      seconds: { type: "string", default: "270" },
      seed: { type: "string", default: "1" },
      of: { type: "string" },
      only: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  if (values.of !== undefined && !(values.of in products))
    throw new Error(`--of ${values.of} must be one of ${Object.keys(products).join(", ")}\n\n${usage}`)
  return {
    examples: whole("examples", values.examples),
    seconds: whole("seconds", values.seconds),
    seed: whole("seed", values.seed),
    of: values.of,
    only: values.only,
    help: values.help,
  }
}

/** The folder with the virtual environment. Its name contains the version, so that a new version is installed anew. */
const environment = (): string => {
  const wanted = readFileSync(join(folder, "requirements.txt"), "utf8").trim()
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache")
  const place = join(cache, "punctual", wanted.replace("==", "-"))
  if (existsSync(join(place, "ready"))) return place
  if (spawnSync("python3", ["-c", "import venv, sys; sys.exit(sys.version_info < (3, 10))"]).status !== 0) {
    throw new Skipped("npm run fuzz needs Python 3.10 or newer with the module venv")
  }
  console.log(`Installing ${wanted} (once) …`)
  mkdirSync(join(cache, "punctual"), { recursive: true })
  rmSync(place, { recursive: true, force: true })
  const steps: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["python3", ["-m", "venv", place]],
    [
      join(place, "bin", "python"),
      [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        join(folder, "requirements.txt"),
      ],
    ],
  ]
  for (const [command, args] of steps) {
    const { status } = spawnSync(command, args, { stdio: "inherit", timeout: 5 * 60_000 })
    if (status !== 0) throw new Error(`${wanted} could not be installed: the message of pip is above.`)
  }
  // The name is the proof that the installation is complete.
  const proof = mkdtempSync(join(place, "proof-"))
  renameSync(proof, join(place, "ready"))
  return place
}

/** What schemathesis sends requests to. */
interface FuzzedProduct extends AsyncDisposable {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The stream of events. It does not end. */
  readonly stream: string
}

/** Callbacks may only reach an address that nobody has (RFC 5737), so no generated URL is ever called. */
const settings = {
  TIMER_STORE_URL: "memory:",
  TIMER_CLOCK: "manual",
  TIMER_EGRESS: "192.0.2.1",
  TIMER_LOG: "warn",
  TIMER_SECRET_KEY: randomBytes(32).toString("hex"),
}

const startTimer = async (data: string): Promise<FuzzedProduct> => {
  // The first key that a request makes puts keys in force, so the requests have one from the start.
  const adminKey = randomBytes(32).toString("hex")
  const adminKeyFile = join(data, "admin.key")
  writeFileSync(adminKeyFile, adminKey, { mode: 0o600 })
  const service = await ServiceProcess.ready({
    folder: data,
    settings: { ...settings, TIMER_ADMIN_KEY_FILE: adminKeyFile },
  })
  return {
    url: service.url,
    headers: { authorization: `Bearer ${adminKey}` },
    stream: "/api/v1/events/stream",
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

/** The whole agent, in this process. Only its calls are never made: many generated URLs have names that would be looked up. */
const startAgent = async (): Promise<FuzzedProduct> => {
  const error = { kind: "egressRefused", message: "This agent makes no calls." } as const
  const caller = {
    whyRefused: () => undefined,
    call: () => Effect.succeed({ kind: "failed", error } as const),
  }
  const agent = await LiveAgent.start({ caller: Layer.succeed(ServiceCaller, caller) })
  return {
    url: agent.url,
    headers: {},
    stream: "/api/v1/tenants/{tenantId}/events",
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  }
}

const products: Readonly<Record<string, (data: string) => Promise<FuzzedProduct>>> = {
  timer: startTimer,
  agent: startAgent,
}

/** How many requests the product has answered, by its own metrics. */
const requestsTo = async ({ url, headers }: FuzzedProduct): Promise<string> => {
  const answer = await fetch(`${url}/metrics`, { headers, signal: AbortSignal.timeout(5_000) }).catch(
    () => undefined,
  )
  if (answer === undefined) return "an unknown number of"
  const counts = (await answer.text()).matchAll(/^\w+_http_requests_total\{[^}]*\} (\d+)/gm)
  return String([...counts].reduce((sum, [, count]) => sum + Number(count), 0))
}

const fuzzOne = async (
  name: string,
  product: FuzzedProduct,
  data: string,
  options: ReturnType<typeof asked>,
): Promise<boolean> => {
  const { examples, seconds, seed, only } = options
  const args = ["--config-file", join(folder, "schemathesis.toml"), "run", `${product.url}/openapi.json`]
  args.push("--phases", "examples,coverage,fuzzing", "--max-examples", examples)
  args.push("--seed", seed, "--request-timeout", "30", "--suppress-health-check", "all")
  args.push("--continue-on-failure", "--no-color", "--exclude-path", product.stream)
  for (const [header, value] of Object.entries(product.headers)) args.push("--header", `${header}: ${value}`)
  if (only !== undefined) args.push("--include-path", only)
  const ended = await runProgram(
    {
      title: `schemathesis on the ${name}, seed ${seed}, ${examples} requests for each call`,
      command: "timeout",
      args: ["--signal=INT", seconds, join(environment(), "bin", "st"), ...args],
      env: { HYPOTHESIS_STORAGE_DIRECTORY: data },
    },
    true,
  )
  const requests = await requestsTo(product)
  const result = ended.isGood ? "passed" : `failed (${ended.how})`
  console.log(`\nfuzz: ${name} ${result}, ${requests} requests, seed ${seed}`)
  return ended.isGood
}

const fuzz = async (): Promise<boolean> => {
  const options = asked()
  if (options.help) {
    console.log(usage)
    return true
  }
  environment()
  console.log("Warnings in the output are expected, because many requests are wrong on purpose.")
  let isGood = true
  for (const [name, start] of Object.entries(products)) {
    if (options.of !== undefined && options.of !== name) continue
    const data = mkdtempSync(join(tmpdir(), "punctual-fuzz-"))
    try {
      await using product = await start(data)
      isGood = (await fuzzOne(name, product, data, options)) && isGood
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  }
  return isGood
}

try {
  process.exitCode = (await fuzz()) ? 0 : 1
} catch (error) {
  const isSkip = error instanceof Skipped && process.env["CI"] === undefined
  console.error(
    isSkip ? `fuzz: SKIPPED: ${error.message}` : `fuzz: ${error instanceof Error ? error.message : error}`,
  )
  process.exitCode = isSkip ? 0 : 1
}
