// The npm scripts: one program starts all others, passes signals on, and ends with their exit codes.
import { expect, test } from "bun:test"
import { fileURLToPath } from "node:url"
import packageJson from "../../../package.json" with { type: "json" }
import { type Program, ServiceProcess } from "../../../server/testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../../server/testkit/TemporaryFolder.ts"
import { platforms } from "../../release/executables.ts"

const runFile = fileURLToPath(new URL("../../run.mjs", import.meta.url))

const run = (name: string): Program => ({ command: "node", args: [runFile, name] })

test("every npm script is a program of run.mjs under the same name", () => {
  for (const [name, script] of Object.entries(packageJson.scripts)) {
    expect(script).toBe(`node scripts/run.mjs ${name}`)
  }
})

test("the exit code and the output of the program are passed on", async () => {
  const version = await ServiceProcess.command(["--version"], {}, run("punctual"))
  expect(version).toEqual({ code: 0, stdout: expect.stringMatching(/^punctual \d/), stderr: "" })
  expect((await ServiceProcess.command(["nonsense"], {}, run("punctual"))).code).toBe(2)
})

test("--help of a release prints its usage, and names every platform", async () => {
  const { code, stdout, stderr } = await ServiceProcess.command(["--help"], {}, run("release"))
  expect([code, stderr]).toEqual([0, ""])
  expect(stdout).toStartWith("npm run release -- [options]\n")
  expect(stdout.split(/[\s,]+/)).toEqual(expect.arrayContaining(platforms.map(({ name }) => name)))
})

test("an unknown name is refused with the names that exist", async () => {
  const { code, stderr } = await ServiceProcess.command([], {}, run("nonsense"))
  expect(code).toBe(2)
  expect(stderr).toBe(
    `There is no program nonsense: use one of ${Object.keys(packageJson.scripts).sort().join(", ")}.\n`,
  )
})

test("a signal reaches the service, which stops in good order", async () => {
  using folder = new TemporaryFolder()
  await using service = await ServiceProcess.ready({ folder: folder.path, program: run("punctual") })
  expect(await service.terminate()).toBe(0)
  expect(service.logs.filter((line) => line.includes('"message":"draining"'))).toHaveLength(1)
  expect(service.logs.filter((line) => line.includes('"message":"stopped"'))).toHaveLength(1)
}, 60_000)
