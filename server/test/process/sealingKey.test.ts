// A service as the README starts it, without TIMER_SECRET_KEY: the first secret makes the key, a kill and a restart find
// it again, and doctor, backup and restore say what an operator must know about it.
import { expect, test } from "bun:test"
import { copyFileSync, existsSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { verifySignature } from "../../src/cli/listen/verifySignature.ts"
import { eventually } from "../../testkit/eventually.ts"
import { modeOf } from "../../testkit/fileModes.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"
import { run } from "../cli/CommandFixture.ts"
import { runKeeping } from "../cli/store/KeptStoreRig.ts"

test("the first secret of a service makes its key, which restarts find and backups leave out", async () => {
  using folder = new TemporaryFolder()
  const path = ServiceProcess.databaseIn(folder.path)
  const keyFile = `${path}.secret-key`
  const store = `sqlite:${path}`
  const findings: Array<string> = []
  let secrets: ReadonlyArray<Uint8Array> = []
  using target = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const body = new Uint8Array(await request.arrayBuffer())
      findings.push(verifySignature(Object.fromEntries(request.headers), body, secrets, Date.now()))
      return new Response(undefined, { status: 204 })
    },
  })
  const signedNow = async (service: ServiceProcess, timerId: string) => {
    const count = findings.length
    const args = ["timers", "create", "shop", timerId, "--delay", "0s", "--to", String(target.url)]
    expect((await run(args, { environmentUrl: service.url })).exitCode).toBe(0)
    await eventually("the webhook arrives", () => (findings.length > count ? true : undefined))
    return findings.at(-1)
  }
  const putting = (service: ServiceProcess, ...args: ReadonlyArray<string>) =>
    run(["namespaces", "put", ...args], { environmentUrl: service.url })

  await using service = await ServiceProcess.ready({ folder: folder.path })
  expect((await runKeeping("doctor", "--store", store)).out).not.toContain("secret")
  expect(existsSync(keyFile)).toBe(false)
  const put = await putting(service, "shop", "--new-secret")
  expect([put.exitCode, modeOf(keyFile)]).toEqual([0, "600"])
  expect(put.err).toContain(`The key is in ${keyFile}`)
  expect(put.err).toContain("Backups of the store do not contain this key")
  const secret = secretBytes(/whsec_\S+/.exec(put.out)?.[0] ?? "")
  if (secret === undefined) throw new Error("no secret was shown")
  secrets = [secret]
  expect(await signedNow(service, "first")).toBe("ok")
  // Only once: from then on there is a key.
  const json = await putting(service, "zoo", "--new-secret", "--json")
  expect(JSON.parse(json.out)).not.toHaveProperty("madeSealingKey")

  await service.kill9()
  await service.start()
  expect(await signedNow(service, "restarted")).toBe("ok")
  const keyText = readFileSync(keyFile, "utf8").trim()
  expect(service.logs.join("\n")).not.toContain(keyText)

  const backup = join(folder.path, "backup.db")
  const copied = await runKeeping("backup", backup, "--store", store)
  expect([copied.exitCode, copied.err]).toEqual([0, expect.stringContaining(`in ${keyFile}. Backups do not`)])
  expect(readFileSync(backup).includes(keyText)).toBe(false)
  expect((await runKeeping("doctor", "--store", store)).out).toContain(`is in ${keyFile}`)

  await service.terminate()
  renameSync(keyFile, `${keyFile}.away`)
  expect(await runKeeping("doctor", "--store", store)).toMatchObject({
    exitCode: 0,
    out: expect.stringMatching(new RegExp(`secrets of shop, zoo cannot be opened.*${keyFile} is missing`)),
  })
  await service.start()
  await service.untilLogged(`${keyFile} is missing`)
  const refused = await putting(service, "park", "--new-secret")
  expect([refused.exitCode, refused.out]).toEqual([1, ""])
  expect(refused.err).toContain(`${keyFile} is missing`)
  renameSync(`${keyFile}.away`, keyFile)
  expect(await signedNow(service, "put-back")).toBe("ok")

  const elsewhere = join(folder.path, "elsewhere.db")
  const restoring = () => runKeeping("restore", backup, "--force", "--store", `sqlite:${elsewhere}`)
  expect((await restoring()).err).toMatch(
    new RegExp(`secrets of shop, zoo cannot be opened.*${elsewhere}.secret-key`),
  )
  copyFileSync(keyFile, `${elsewhere}.secret-key`)
  const whole = await restoring()
  expect([whole.exitCode, whole.err.includes("cannot be opened")]).toEqual([0, false])
  expect(whole.err).toContain(`is in ${elsewhere}.secret-key`)
}, 60_000)
