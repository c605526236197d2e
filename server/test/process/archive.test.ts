// Export and import as the commands that operators run, from one file into another.
import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { openSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const mainFile = fileURLToPath(new URL("../../../app/src/main.ts", import.meta.url))

const call = async (service: ServiceProcess, name: string, body: unknown) => {
  const response = await fetch(`${service.url}/api/v1/timers/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return (await response.json()) as { readonly timer?: Readonly<Record<string, unknown>> }
}

/** `punctual import < file`. */
const importFrom = async (file: string, store: string) => {
  const child = spawn(process.execPath, [mainFile, "import", "--store", store], {
    stdio: [openSync(file, "r"), "ignore", "pipe"],
  })
  let stderr = ""
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const [code] = await once(child, "close")
  return { code, stderr }
}

test("timers move from one file to another and continue there, and an import refuses a store in use", async () => {
  using from = new TemporaryFolder()
  using to = new TemporaryFolder()
  const file = join(from.path, "archive.jsonl")
  const target = `sqlite:${ServiceProcess.databaseIn(to.path)}`
  const key = { namespace: "shop", timerId: "one" }
  await using first = await ServiceProcess.ready({ folder: from.path })
  const create = { ...key, delay: "1h", callbackUrl: "http://127.0.0.1:9/", payload: { n: 1 } }
  await call(first, "create", create)
  const { timer } = await call(first, "get", key)
  const store = `sqlite:${ServiceProcess.databaseIn(from.path)}`
  const beside = await ServiceProcess.command(["export", "--store", store])
  expect([beside.code, beside.stderr]).toEqual([0, expect.stringContaining("Exported 1 pending timer,")])
  writeFileSync(file, beside.stdout)
  expect(await importFrom(file, store)).toEqual({
    code: 1,
    stderr: expect.stringContaining("runs on this store"),
  })
  expect(await first.terminate()).toBe(0)

  expect(await importFrom(file, target)).toEqual({ code: 0, stderr: expect.stringContaining("Imported: 1.") })
  await using second = await ServiceProcess.ready({ folder: to.path })
  expect((await call(second, "get", key)).timer).toEqual(timer)
  expect(await second.metric("timer_pending")).toBe(1)

  writeFileSync(file, beside.stdout.split("\n").slice(0, 2).join("\n"))
  const cut = await importFrom(file, target)
  expect([cut.code, cut.stderr]).toEqual([1, expect.stringContaining("Nothing was imported.")])
}, 30_000)
