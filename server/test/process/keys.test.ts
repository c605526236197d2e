// Keys on real processes: the first key of a running service, a service that others can reach, and keys after a restore.
// The text of a key is nowhere but in the places where its owner puts it.
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "../../testkit/eventually.ts"
import { modeOf } from "../../testkit/fileModes.ts"
import { fromSource, ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

setDefaultTimeout(120_000)

/** Runs a command with the settings of the service, as on its machine. */
const commandsIn = (
  folder: string,
  service: () => string,
  settings: Readonly<Record<string, string>> = {},
) => {
  const database = { TIMER_DB_PATH: ServiceProcess.databaseIn(folder) }
  return (args: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}) =>
    ServiceProcess.command(args, { ...database, TIMER_URL: service(), ...settings, ...more })
}

const statusOf = async (service: ServiceProcess, key?: string): Promise<number> => {
  const response = await fetch(`${service.url}/api/v1/service/get`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: "{}",
  })
  await response.arrayBuffer()
  return response.status
}

/** A service learns of a change of keys by its next read. */
const eventuallyAnswers = (service: ServiceProcess, status: number, key?: string) =>
  eventually(`the service answers ${status}`, async () =>
    (await statusOf(service, key)) === status ? true : undefined,
  )

const metricsOf = async (service: ServiceProcess, key: string): Promise<string> => {
  const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${key}` } })
  expect(response.status).toBe(200)
  return response.text()
}

/** The command lines of all processes while a command runs, as every user of the machine sees them. */
const processesDuring = async (args: ReadonlyArray<string>): Promise<string> => {
  const running = spawn(fromSource.command, [...fromSource.args, ...args], { stdio: "ignore" })
  try {
    return execFileSync("ps", ["-A", "-o", "args"], { encoding: "utf8" })
  } finally {
    running.kill()
    await once(running, "exit")
  }
}

describe("the first key", () => {
  test("is made while the service runs, is needed from then on, and shows up nowhere else", async () => {
    using folder = new TemporaryFolder()
    await using service = await ServiceProcess.ready({ folder: folder.path })
    const command = commandsIn(folder.path, () => service.url)
    expect(await statusOf(service)).toBe(200)
    const keyFile = join(folder.path, "admin.key")
    const made = await command(["keys", "create", "--admin", "--key-out", keyFile])
    expect([made.code, made.stdout, modeOf(keyFile)]).toEqual([0, "", "600"])
    const key = readFileSync(keyFile, "utf8").trim()
    await eventuallyAnswers(service, 401)
    expect(await statusOf(service, key)).toBe(200)
    expect((await command(["status"])).stderr).toContain("needs a key, and none was sent")
    expect((await command(["status", "--key-file", keyFile])).code).toBe(0)

    const printed = await command(["keys", "create", "--label", "app", "--role", "app"], {
      TIMER_API_KEY_FILE: keyFile,
    })
    const appKey = printed.stdout.trim()
    expect(await statusOf(service, appKey)).toBe(403)

    const backup = join(folder.path, "backup.db")
    expect((await command(["backup", backup])).code).toBe(0)
    const doctor = await command(["doctor"])
    const exported = await command(["export"])
    const listed = await command(["keys", "list", "--direct"])
    const wrong = await command(["status"], { TIMER_API_KEY: `${appKey}x` })
    const processes = await processesDuring(["watch", "--url", service.url, "--key-file", keyFile])
    const places: Readonly<Record<string, string>> = {
      logs: service.logs.join("\n"),
      metrics: await metricsOf(service, key),
      processes,
      backup: readFileSync(backup, "latin1"),
      store: readFileSync(ServiceProcess.databaseIn(folder.path), "latin1"),
      log: readFileSync(`${ServiceProcess.databaseIn(folder.path)}-wal`, "latin1"),
      ...Object.fromEntries(
        Object.entries({ made, doctor, exported, listed, wrong }).map(([name, { stdout, stderr }]) => [
          name,
          stdout + stderr,
        ]),
      ),
    }
    expect(processes).toContain("--key-file")
    for (const secret of [key, appKey]) {
      // The id is public: the part after it is the secret.
      const found = Object.entries(places).filter(([, text]) => text.includes(secret.slice(16)))
      expect(found.map(([name]) => name)).toEqual([])
    }
    expect(await service.terminate()).toBe(0)
  })

  test("can be made before the first start, and its last use is known after the stop", async () => {
    using folder = new TemporaryFolder()
    const command = commandsIn(folder.path, () => "http://127.0.0.1:1")
    const made = await command(["keys", "create", "--admin"])
    await using service = await ServiceProcess.ready({ folder: folder.path })
    expect(await statusOf(service)).toBe(401)
    const usedAtMs = Date.now()
    expect(await statusOf(service, made.stdout.trim())).toBe(200)
    expect(await service.terminate()).toBe(0)
    const { keys } = JSON.parse((await command(["keys", "list", "--direct", "--json"])).stdout)
    expect(Date.parse(keys[0].lastUsedAt)).toBeGreaterThanOrEqual(usedAtMs)
  })
})

describe("a service that others can reach", () => {
  const settings = { TIMER_HTTP_HOST: "0.0.0.0" }

  test("does not start without a key, and names the commands and settings that help", async () => {
    using folder = new TemporaryFolder()
    const refused = await commandsIn(folder.path, () => "", { ...settings, TIMER_HTTP_PORT: "0" })(["serve"])
    expect([refused.code, refused.stdout]).toEqual([1, ""])
    for (const words of [
      "TIMER_HTTP_HOST is 0.0.0.0",
      "punctual keys create --admin",
      "TIMER_ADMIN_KEY_FILE",
    ]) {
      expect(refused.stderr).toContain(words)
    }
    // What the sentence says helps.
    await commandsIn(folder.path, () => "")(["keys", "create", "--admin"])
    await using service = await ServiceProcess.ready({ folder: folder.path, settings })
    expect(await statusOf(service)).toBe(401)
  })

  test("makes the administrator's key file, which commands on its machine use without a shell in between", async () => {
    using folder = new TemporaryFolder()
    const keyFile = join(folder.path, "admin.key")
    const withFile = { ...settings, TIMER_ADMIN_KEY_FILE: keyFile }
    await using service = await ServiceProcess.ready({ folder: folder.path, settings: withFile })
    const command = commandsIn(folder.path, () => service.url, { TIMER_ADMIN_KEY_FILE: keyFile })
    const key = readFileSync(keyFile, "utf8").trim()
    await eventually(
      "it says where it listens",
      () => /^ {2}network {4}port \d+ of every address of this machine/m.test(service.output) || undefined,
    )
    expect(modeOf(keyFile)).toBe("600")
    await service.untilLogged(keyFile)
    expect(service.hasLogged(key)).toBe(false)
    expect([await statusOf(service), await statusOf(service, key)]).toEqual([401, 200])
    expect((await command(["keys", "admin"])).stdout).toBe(`${key}\n`)
    expect((await command(["status"])).code).toBe(0)
    const app = await command(["keys", "create", "--label", "app", "--role", "app"])
    expect([app.code, await statusOf(service, app.stdout.trim())]).toEqual([0, 403])
    // The file stays: the next start reads it and makes no other key.
    await service.terminate()
    await service.start()
    expect([readFileSync(keyFile, "utf8").trim(), await statusOf(service, key)]).toEqual([key, 200])
  })
})

test("keys of a backup work only after punctual keys confirm --all, while the service runs", async () => {
  using folder = new TemporaryFolder()
  await using service = await ServiceProcess.ready({ folder: folder.path })
  const command = commandsIn(folder.path, () => service.url)
  const key = (await command(["keys", "create", "--admin"])).stdout.trim()
  await eventuallyAnswers(service, 200, key)
  const backup = join(folder.path, "backup.db")
  await command(["backup", backup])
  await service.terminate()
  const restored = await command(["restore", backup, "--force", "--due-before", "now", "fire"])
  expect([restored.code, restored.stderr]).toEqual([
    0,
    expect.stringContaining("punctual keys confirm --all"),
  ])
  await service.start()
  expect([await statusOf(service), await statusOf(service, key)]).toEqual([401, 401])
  expect((await command(["status"], { TIMER_API_KEY: key })).stderr).toContain("restored from a backup")
  const confirmed = await command(["keys", "confirm", "--all"])
  expect([confirmed.code, confirmed.stdout]).toEqual([0, "Confirmed 1 key.\n"])
  await eventuallyAnswers(service, 200, key)
})
