import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { NamespaceDirectory } from "../../src/engine/namespaces/NamespaceDirectory.ts"
import { serviceRecord } from "../../src/engine/namespaces/SettingsRecords.ts"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"
import { eventually } from "../../testkit/eventually.ts"
import { refused, succeeded } from "./answers.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const hook = "http://127.0.0.1:9/hook"
const now = { namespace: "shop", delay: "0s", callbackUrl: hook }

const service = async ({ post }: RunningService, call: "get" | "pause" | "resume", body: object = {}) =>
  succeeded(`service/${call}`, await post(`service/${call}`, body))

/** Records what is fired. */
const recording = () => {
  const fired: Array<Fire> = []
  const deliver = (fire: Fire): Effect.Effect<Delivery> =>
    Effect.sync(() => {
      fired.push(fire)
      return { kind: "delivered", status: 200 }
    })
  return { fired, deliver }
}

describe("service/pause", () => {
  test("stops all firing until service/resume, and the service stays ready", async () => {
    const { fired, deliver } = recording()
    await withService({ deliver }, async (running) => {
      expect(await service(running, "get")).not.toHaveProperty("pause")
      const { pause } = await service(running, "pause", { reason: "moving" })
      expect(pause).toMatchObject({ kind: "asked", reason: "moving" })
      expect(await service(running, "pause")).toMatchObject({ pause })
      expect((await service(running, "get")).pause).toEqual(pause)
      succeeded("create", await running.call("create", now))
      // When this timer is answered and listed, every other due timer could have started.
      await running.call("create", { ...now, namespace: "other" })
      expect((await running.fetch("/health/ready")).status).toBe(200)
      expect((await running.fetch("/metrics")).text).toMatch(/^timer_service_paused 1$/m)
      expect(fired).toEqual([])
      expect(await service(running, "resume")).not.toHaveProperty("pause")
      await eventually("both have fired", () => (fired.length === 2 ? true : undefined))
      expect(await service(running, "resume")).not.toHaveProperty("pause")
    })
  })
})

describe("service/get", () => {
  const build = { version: "1.2.3", commit: "4f1c2e9", builtAt: "2030-01-01T00:00:00Z" }
  const settings = [{ name: "TIMER_HTTP_PORT", value: "8080", isSet: false }]

  test("says which program answers, and with settings: true which settings are in force", () =>
    withService({ about: { build, settings } }, async (running) => {
      const plain = await service(running, "get")
      expect(plain.build).toEqual(build)
      expect(plain).not.toHaveProperty("settings")
      expect((await service(running, "get", { settings: true })).settings).toEqual(settings)
      refused(await running.post("service/get", { settings: false }), "invalidRequest")
    }))
})

describe("after a restore from a backup", () => {
  test("a resume needs the explicit consent that overdue timers fire", async () => {
    const pause = { sinceMs: 1_000, kind: "restored", reason: "the disk failed" } as const
    const { fired, deliver } = recording()
    const restore = Effect.flatMap(NamespaceDirectory, (directory) =>
      directory.change(serviceRecord, 1_000, () => Effect.succeed({ pause })),
    )
    await withService({ deliver, before: Effect.orDie(restore) }, async (running) => {
      await running.call("create", now)
      const problem = refused(await running.post("service/resume", {}), "restoredFromBackup")
      expect(problem.detail).toContain("punctual restore --due-before")
      expect(problem.detail).toContain("fireOverdue")
      // A pause by an operator does not hide the pause of the restore.
      expect((await service(running, "pause", { reason: "look" })).pause?.kind).toBe("restored")
      refused(await running.post("service/resume", {}), "restoredFromBackup")
      expect(fired).toEqual([])
      expect(await service(running, "resume", { fireOverdue: true })).not.toHaveProperty("pause")
      await eventually("it has fired", () => (fired.length === 1 ? true : undefined))
    })
  })
})

describe("breakers", () => {
  const failing = (): Effect.Effect<Delivery> =>
    Effect.succeed({ kind: "retry", error: "no answer", isHostFailure: true })

  test("are listed with their node, and closed by host over all namespaces", () => {
    let deliver = failing
    return withService({ deliver: () => deliver() }, async (running) => {
      const { call, post } = running
      expect(succeeded("breakers/list", await post("breakers/list", {})).breakers).toEqual([])
      for (const namespace of ["a", "b"]) {
        const timers = Array.from({ length: 15 }, (_, index) => ({
          ...now,
          namespace,
          timerId: `t-${index}`,
        }))
        succeeded("createMany", await call("createMany", { timers }))
      }
      const listed = await eventually("both breakers are open", async () => {
        const answer = succeeded("breakers/list", await post("breakers/list", {}))
        return answer.breakers.length === 2 ? answer : undefined
      })
      expect(listed.breakers.map(({ namespace }) => namespace).sort()).toEqual(["a", "b"])
      for (const { host, failures, probeInMs } of listed.breakers) {
        expect(host).toBe("host")
        expect(failures).toBeGreaterThanOrEqual(10)
        expect(probeInMs).toBeLessThanOrEqual(60_000)
      }
      expect(succeeded("breakers/reset", await post("breakers/reset", { host: "else" })).reset).toBe(0)
      deliver = () => Effect.succeed({ kind: "delivered", status: 200 })
      const { node, reset } = succeeded("breakers/reset", await post("breakers/reset", { host: "host" }))
      expect([node, reset]).toEqual([listed.node, 2])
      expect(succeeded("breakers/list", await post("breakers/list", {})).breakers).toEqual([])
    })
  })
})
