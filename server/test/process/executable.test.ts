import { afterAll, beforeAll, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import manifest from "../../package.json" with { type: "json" }
import { Receiver } from "../../testkit/Receiver.ts"
import { type Program, ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const buildWithinMs = 60_000

let folder: TemporaryFolder
let home: string
let executable: Program

beforeAll(() => {
  folder = new TemporaryFolder()
  const built = join(folder.path, "built", "punctual")
  execFileSync("node", [join(root, "scripts", "build.mjs"), "--outfile", built], {
    stdio: ["ignore", "ignore", "inherit"],
    timeout: buildWithinMs,
  })
  home = join(folder.path, "home")
  mkdirSync(home)
  copyFileSync(built, join(home, "punctual"))
  // From there, the executable finds neither a runtime nor anything else.
  executable = { command: join(home, "punctual"), args: [], environment: { PATH: "" } }
}, buildWithinMs)

afterAll(() => folder[Symbol.dispose]())

const say = (...args: ReadonlyArray<string>) => ServiceProcess.command(args, {}, executable)

test("the executable prints its version, its commit and its build time", async () => {
  const commit = "([0-9a-f]{7,}( with changes)?|unknown)"
  const line = new RegExp(
    `^punctual ${manifest.version} \\(commit ${commit}, built \\d{4}-\\d\\d-\\d\\dT[\\d:]+Z\\)\\n$`,
  )
  expect(await say("--version")).toEqual({ code: 0, stdout: expect.stringMatching(line), stderr: "" })
  const { stdout } = await say("--version", "--json")
  expect(JSON.parse(stdout)).toEqual({
    version: manifest.version,
    commit: expect.stringMatching(new RegExp(`^${commit}$`)),
    builtAt: expect.stringMatching(/Z$/),
  })
})

test("wrong usage ends with exit code 2, and the help needs no other file", async () => {
  const helps = (text: string) => ({ code: 0, stdout: expect.stringContaining(text), stderr: "" })
  expect(await say("--help")).toEqual(helps("Punctual, a durable timer service"))
  expect(await say("serve", "--help")).toEqual(helps("TIMER_HTTP_PORT"))
  expect((await say("nonsense")).code).toBe(2)
})

test("alone in a folder it fires a timer, stops when asked, and finds its data again", async () => {
  await using receiver = await Receiver.listening()
  // A file that happens to be in the folder must not change the settings.
  writeFileSync(join(home, ".env"), "TIMER_SHARDS=nonsense\n")
  const settings = { TIMER_DB_PATH: join(home, "data", "punctual.db") }
  await using service = await ServiceProcess.ready({ folder: home, program: executable, settings })
  const create = (timerId: string, delay: string) =>
    post(service, "create", {
      namespace: "demo",
      timerId,
      delay,
      callbackUrl: receiver.url,
      payload: { n: 1 },
    })

  expect(await create("soon", "50ms")).toMatchObject({ result: "created" })
  expect(await create("later", "1h")).toMatchObject({ result: "created" })
  await receiver.until("the timer fired", ({ length }) => length === 1)
  const docs = await (await fetch(`${service.url}/docs`)).text()
  expect(docs).toContain("<title>Punctual documentation</title>")
  const [picture = ""] = /pictures\/[^"]+\.png/.exec(docs) ?? []
  expect((await fetch(`${service.url}/docs/${picture}`)).headers.get("content-type")).toBe("image/png")
  expect(await (await fetch(`${service.url}/docs/api`)).text()).toContain("Punctual API reference")
  expect((await fetch(`${service.url}/docs/api.js`)).headers.get("content-type")).toStartWith(
    "text/javascript",
  )
  const page = await fetch(`${service.url}/console/`)
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"])
  const [script = ""] = /main-[^"]+\.js/.exec(await page.text()) ?? []
  const file = await fetch(`${service.url}/console/${script}`)
  expect([file.status, file.headers.get("content-type")]).toEqual([200, "text/javascript; charset=utf-8"])
  expect(await file.text()).not.toBe("")
  expect(await service.terminate()).toBe(0)

  // This command opens the store itself.
  const archive = await say("export", "--store", `sqlite:${settings.TIMER_DB_PATH}`)
  expect(archive).toMatchObject({ code: 0, stdout: expect.stringContaining('"later"') })

  await service.start()
  const { timer } = (await post(service, "get", { namespace: "demo", timerId: "later" })) as {
    timer: unknown
  }
  expect(timer).toMatchObject({ state: "pending" })
  expect(await service.terminate()).toBe(0)
  expect(receiver.deliveries.map(({ key }) => key.timerId)).toEqual(["soon"])
  expect(readdirSync(home).sort()).toEqual([".env", "data", "punctual"])
}, 60_000)

test("the executable makes more requests at once than the runtime does by default", async () => {
  const settings = { TIMER_STORE_URL: "memory:", TIMER_MAX_IN_FLIGHT: "850" }
  await using service = await ServiceProcess.ready({ folder: folder.path, program: executable, settings })
  expect(await service.terminate()).toBe(0)
}, 60_000)

const post = async (service: ServiceProcess, call: string, body: unknown): Promise<unknown> => {
  const response = await fetch(`${service.url}/api/v1/timers/${call}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return response.json()
}
