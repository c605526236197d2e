// `npm run fuzz`: sends requests that schemathesis generates from the OpenAPI document to a real service. It fails on
// every 5xx and on every answer that the document does not describe. It also fails if the service accepts a request that
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
import { ServiceProcess } from "../server/testkit/ServiceProcess.ts"
import { root } from "./repository.ts"
import { runProgram } from "./runProgram.ts"

const usage = `npm run fuzz -- [options]
  --examples N   requests for each call in the last phase (default 60)
  --seconds N    stop after this time (default 270)
  --seed N       the seed of the requests (default 1, so that two runs send the same)
  --only PATH    one call, such as /api/v1/timers/create
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
      only: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  return {
    examples: whole("examples", values.examples),
    seconds: whole("seconds", values.seconds),
    seed: whole("seed", values.seed),
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

/** Callbacks may only reach an address that nobody has (RFC 5737), so no generated URL is ever called. */
const settings = {
  TIMER_STORE_URL: "memory:",
  TIMER_CLOCK: "manual",
  TIMER_EGRESS: "192.0.2.1",
  TIMER_LOG: "warn",
  TIMER_SECRET_KEY: randomBytes(32).toString("hex"),
}

/** How many requests the service has answered, by its own metrics. */
const requestsTo = async (url: string, authorization: string): Promise<string> => {
  const options = { headers: { authorization }, signal: AbortSignal.timeout(5_000) }
  const answer = await fetch(`${url}/metrics`, options).catch(() => undefined)
  if (answer === undefined) return "an unknown number of"
  const counts = (await answer.text()).matchAll(/^timer_http_requests_total\{[^}]*\} (\d+)/gm)
  return String([...counts].reduce((sum, [, count]) => sum + Number(count), 0))
}

const fuzz = async (): Promise<boolean> => {
  const { examples, seconds, seed, only, help } = asked()
  if (help) {
    console.log(usage)
    return true
  }
  const place = environment()
  const data = mkdtempSync(join(tmpdir(), "punctual-fuzz-"))
  try {
    // The first key that a request makes puts keys in force, so the requests have one from the start.
    const adminKey = randomBytes(32).toString("hex")
    const adminKeyFile = join(data, "admin.key")
    writeFileSync(adminKeyFile, adminKey, { mode: 0o600 })
    const authorization = `Bearer ${adminKey}`
    await using service = await ServiceProcess.ready({
      folder: data,
      settings: { ...settings, TIMER_ADMIN_KEY_FILE: adminKeyFile },
    })
    const args = ["--config-file", join(folder, "schemathesis.toml"), "run", `${service.url}/openapi.json`]
    args.push("--phases", "examples,coverage,fuzzing", "--max-examples", examples)
    args.push("--seed", seed, "--request-timeout", "30", "--suppress-health-check", "all")
    args.push("--continue-on-failure", "--no-color", "--header", `Authorization: ${authorization}`)
    // The stream of events does not end.
    args.push("--exclude-path", "/api/v1/events/stream")
    if (only !== undefined) args.push("--include-path", only)
    console.log("Warnings in the output are expected, because many requests are wrong on purpose.")
    const title = `schemathesis, seed ${seed}, ${examples} requests for each call`
    const ended = await runProgram(
      {
        title,
        command: "timeout",
        args: ["--signal=INT", seconds, join(place, "bin", "st"), ...args],
        env: { HYPOTHESIS_STORAGE_DIRECTORY: data },
      },
      true,
    )
    const requests = await requestsTo(service.url, authorization)
    const result = ended.isGood ? "passed" : `failed (${ended.how})`
    console.log(`\nfuzz: ${result}, ${requests} requests, seed ${seed}`)
    return ended.isGood
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
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
