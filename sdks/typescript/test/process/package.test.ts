// The package as a user gets it: packed, installed into an empty folder, and used there as an ES module and as CommonJS.
// The matrix run adds older and newer versions of Node, and the tools that check packages.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { testsAllRuntimes } from "@punctual/server/testkit/effort"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { executableIn } from "../../../harness/fromSource.ts"
import { buildClient, entries } from "../../build.ts"
import { installRegistry } from "../../installRegistry.ts"
import { ownParts, sizeOf } from "../../sizes.ts"
import { TestService } from "../../src/testing.ts"

setDefaultTimeout(300_000)

const here = fileURLToPath(new URL("../../", import.meta.url))
const tsc = join(here, "../../node_modules/.bin/tsc")
const folder = new TemporaryFolder()
const built = join(folder.path, "built")
const user = join(folder.path, "user")

interface Ended {
  readonly code: number | null
  readonly output: string
}

const run = (
  command: string,
  args: ReadonlyArray<string>,
  cwd: string,
  env: Record<string, string> = {},
): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    })
    let output = ""
    const note = (chunk: Buffer) => {
      output += chunk.toString()
    }
    child.stdout.on("data", note)
    child.stderr.on("data", note)
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, output }))
  })

const mustRun = async (...args: Parameters<typeof run>): Promise<string> => {
  const { code, output } = await run(...args)
  expect({ code, output }).toEqual({ code: 0, output })
  return output
}

/** A program that uses every part. It prints what it found. */
const programOf = (load: (path: string, names: string) => string): string => `
${load("@punctual/client", "Punctual, NotFoundError")}
${load("@punctual/client/webhooks", "handler, Dead")}
${load("@punctual/client/admin", "admin")}
${load("@punctual/client/testing", "signedRequest, TestReceiver")}
const run = async () => {
  const punctual = new Punctual({ namespace: "packed" })
  const { timer } = await punctual.timers.create({ delay: "1h", callbackUrl: "http://127.0.0.1:9/", payload: { n: 1 } })
  const missing = await punctual.timers.get({ timerId: "missing" }).catch((error) => error instanceof NotFoundError)
  const { now } = await admin(punctual).service.get()
  const secret = "whsec_" + btoa("a secret of thirty-two bytes ...")
  const receive = handler({ secrets: secret, handle: () => { throw new Dead("end") } })
  const { status } = await receive(await signedRequest({ secret }))
  console.log(JSON.stringify({ state: timer.state, missing, now: typeof now, status, hasReceiver: typeof TestReceiver }))
}
run()
`

const printed = '{"state":"pending","missing":true,"now":"string","status":422,"hasReceiver":"function"}'

let service: TestService

beforeAll(async () => {
  buildClient(built)
  mkdirSync(user)
  writeFileSync(join(user, "package.json"), "{}")
  await mustRun("npm", ["pack", "--silent", "--pack-destination", folder.path], built)
  const [packed] = readdirSync(folder.path).filter((file) => file.endsWith(".tgz"))
  await mustRun(
    "npm",
    ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", `../${packed}`],
    user,
  )
  writeFileSync(
    join(user, "use.mjs"),
    programOf((path, names) => `import { ${names} } from "${path}"`),
  )
  writeFileSync(
    join(user, "use.cjs"),
    programOf((path, names) => `const { ${names} } = require("${path}")`),
  )
  service = await TestService.start({ executable: executableIn(folder.path) })
})

afterAll(async () => {
  await service?.stop()
  folder[Symbol.dispose]()
})

const useOn = async (command: string, ...args: ReadonlyArray<string>): Promise<void> => {
  for (const file of ["use.mjs", "use.cjs"]) {
    const output = await mustRun(command, [...args, file], user, { TIMER_URL: service.url })
    // Node 18 warns that its fetch is new.
    expect(output.split("\n")).toContain(printed)
  }
}

describe("the installed package", () => {
  test("has no dependencies", () => {
    expect(readdirSync(join(user, "node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "@punctual",
    ])
  })

  test("works on the Node of this machine", () => useOn("node"))

  test("works on Bun", () => useOn(process.execPath))

  test("has types that the strictest compiler accepts, for both kinds of modules", async () => {
    const imports = Object.keys(entries).map(
      (path, index) => `import * as part${index} from "@punctual/client${path.slice(1)}"`,
    )
    const use = `${imports.join("\n")}
const punctual = new part0.Punctual({ url: "http://127.0.0.1:1", namespace: "a" })
export const created: Promise<part0.CreateTimerAnswer<{ readonly n: number }>> = punctual.timers.create({ delay: "1s", target: { type: "event" }, payload: { n: 1 } })
export const parts: ReadonlyArray<unknown> = [part1.handler, part2.admin, part3.TestService]
// @ts-expect-error: there is no such field.
export const wrong = punctual.timers.create({ delai: "1s" })
`
    writeFileSync(join(user, "use.mts"), use)
    writeFileSync(join(user, "use.cts"), use)
    const strict = [
      "--noEmit",
      "--strict",
      "--exactOptionalPropertyTypes",
      "--noUncheckedIndexedAccess",
      "--isolatedModules",
    ]
    const options = [
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--lib",
      "es2022,dom,dom.iterable,esnext.disposable",
      "--types",
      "",
    ]
    await mustRun(tsc, [...strict, ...options, "use.mts", "use.cts"], user)
  })
})

test("the client with its timers has at most 12 KB (gzip)", async () => {
  const { gzipBytes } = await sizeOf(here, ownParts["@punctual/client"])
  expect(gzipBytes).toBeLessThanOrEqual(12_000)
})

if (testsAllRuntimes) {
  describe("before a release", () => {
    const modules = installRegistry((line) => process.stderr.write(`${line}\n`))
    const onDeno = ["run", "--allow-net", "--allow-env", "--allow-read", "--no-prompt", "--quiet"]
    const runtimes = [
      ...["node-18", "node-20", "node-24"].map((name) => ({ name, file: `${name}/bin/node`, args: [] })),
      { name: "deno", file: "deno/deno", args: onDeno },
    ]
    for (const { name, file, args } of runtimes) {
      const program = join(modules, file)
      const title = `the package works on ${name}`
      if (existsSync(program)) test(title, () => useOn(program, ...args))
      else test.skip(`${title} (skipped: the registry has no such program for this machine)`, () => undefined)
    }

    test("publint finds nothing", async () => {
      await mustRun(join(modules, ".bin", "publint"), ["--strict", built], folder.path)
    })

    test("attw finds the types of every part in every kind of resolution", async () => {
      await mustRun(join(modules, ".bin", "attw"), ["--pack", built], folder.path)
    })
  })
}
