// `punctual watch` beside a real service: changes as they happen, a view on a terminal, a service that goes away.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { WatchPoll } from "../../../src/cli/watch/WatchPoll.ts"
import type { Delivery, Fire } from "../../../src/ports/Deliverer.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { TcpProxy } from "../../../testkit/TcpProxy.ts"
import { type RunningService, withService } from "../../http/ServiceFixture.ts"
import { run, withoutKey } from "../CommandFixture.ts"

/** What begins a command to the terminal. */
const escapeMark = String.fromCharCode(27)

/** A watch that runs until it is stopped. */
const watching = (url: string, args: ReadonlyArray<string>, columns?: number, apiKey?: string) => {
  const lines: Array<string> = []
  const stopped = Promise.withResolvers<void>()
  const ended = run(["watch", "--interval", "200ms", "--url", url, ...args], {
    columns,
    environment: apiKey === undefined ? {} : { TIMER_API_KEY: apiKey },
    out: async (text) => void lines.push(...text.split("\n").filter((line) => line !== "")),
    onStop: (stop) => {
      void stopped.promise.then(stop)
      return () => {}
    },
  })
  return {
    lines,
    until: (what: string, pattern: RegExp) =>
      eventually(what, () => lines.find((line) => pattern.test(line))).catch((error: unknown) => {
        throw new Error(`${error}; it wrote:\n${lines.join("\n")}`)
      }),
    stop: async () => {
      stopped.resolve()
      return (await ended).exitCode
    },
  }
}

const create = ({ call }: RunningService, timerId: string, more: object = {}) =>
  call("create", { namespace: "billing", timerId, delay: "0s", callbackUrl: "http://127.0.0.1:9/", ...more })

/** Delivers what is called good, refuses what is called bad, and asks for a retry of all else. */
const deliver = ({ timerId }: Fire): Effect.Effect<Delivery> =>
  Effect.succeed(
    timerId.startsWith("good")
      ? { kind: "delivered", status: 200 }
      : timerId.startsWith("bad")
        ? { kind: "dead", reason: "refused", status: 410, error: "answered 410" }
        : { kind: "retry", status: 500, error: "answered 500", isHostFailure: false },
  )

describe("watch", () => {
  test("writes a line for each change, once, and ends with exit code 0", () =>
    withService({ deliver }, async (service) => {
      await create(service, "good-before")
      await eventually("it is delivered", async () =>
        (await service.call("get", { namespace: "billing", timerId: "good-before" })).json.timer.state ===
        "delivered"
          ? true
          : undefined,
      )
      const watch = watching(service.url, ["--namespace", "billing"])
      await watch.until("it watches", /Watching billing/)
      await create(service, "good")
      await create(service, "bad")
      await create(service, "again", { retryPolicy: { initialInterval: "1h" } })
      await create(service, "late", { delay: "1h" })
      await service.call("delete", { namespace: "billing", timerId: "late" })
      await watch.until("a delivery", /delivered {2}billing\/good {2}attempts 1 {2}late by/)
      await watch.until("a dead letter", /dead {7}billing\/bad {2}attempts 1 {2}refused {2}answered 410/)
      await watch.until("a retry", /retry {6}billing\/again {2}attempts 1 {2}next at .* {2}answered 500/)
      await watch.until("a cancel", /cancelled {2}billing\/late/)
      await create(service, "good-last")
      await watch.until("another delivery", /billing\/good-last/)
      expect(await watch.stop()).toBe(0)
      const outcomes = watch.lines.filter((line) => / (delivered|dead|retry|cancelled) /.test(line))
      expect(outcomes).toHaveLength(5)
      expect(watch.lines.join("\n")).not.toContain("good-before")
    }))

  test("finds namespaces by itself, and tells programs an object a line", () =>
    withService({ deliver }, async (service) => {
      await create(service, "late", { delay: "1h" })
      const watch = watching(service.url, ["--json"])
      await watch.until("it watches", /Watching billing/)
      await create(service, "good")
      const line = await watch.until("a delivery", /delivered/)
      expect(JSON.parse(line)).toMatchObject({
        change: "delivered",
        namespace: "billing",
        timerId: "good",
        attempts: 1,
      })
      expect(await watch.stop()).toBe(0)
    }))

  test("draws a view on a terminal in place of the one before, and nothing wider than it", () =>
    withService({ deliver }, async (service) => {
      await create(service, "next", { delay: "1h" })
      const watch = watching(service.url, ["--namespace", "billing"], 60)
      const plain = (line: string) => line.replace(new RegExp(`${escapeMark}\\[\\d*[A-Z]|\r`, "g"), "")
      await watch.until("what is due", /in 59 min \d+ s.*billing\/next/)
      await create(service, "good")
      await watch.until("a delivery", /delivered {2}billing\/good/)
      expect(await watch.stop()).toBe(0)
      expect(watch.lines.some((line) => new RegExp(`${escapeMark}\\[\\d+A\r`).test(line))).toBe(true)
      expect(watch.lines.map(plain).filter((line) => line.length > 59)).toEqual([])
      expect(watch.lines.map(plain)).toContainEqual(expect.stringMatching(/^billing +1 +0 +yes$/))
    }))

  test("says that a service went away, and goes on when it is back", () =>
    withService({ deliver }, async (service) => {
      await using proxy = await TcpProxy.before({ host: "127.0.0.1", port: service.port })
      const watch = watching(`http://127.0.0.1:${proxy.port}`, ["--namespace", "billing"])
      await watch.until("it watches", /Watching billing/)
      proxy.cut()
      await watch.until("it is away", /does not answer; retrying/)
      await create(service, "good-meanwhile")
      proxy.heal()
      await watch.until("it is back", /answers again/)
      await watch.until("what happened meanwhile", /delivered {2}billing\/good-meanwhile/)
      expect(await watch.stop()).toBe(0)
      expect(watch.lines.filter((line) => line.includes("does not answer"))).toHaveLength(1)
    }))

  const postAs = ({ fetch }: RunningService, apiKey: string, path: string, body: object) =>
    fetch(`/api/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: JSON.stringify(body),
    })

  /** An administrator's key, and a key with these rights. */
  const makeKeys = async (service: RunningService, rights: object): Promise<[string, string]> => {
    const admin = (await service.post("keys/create", { label: "admin", role: "admin" })).json.apiKey
    const made = await postAs(service, admin, "keys/create", { label: "some", ...rights })
    return [admin, made.json.apiKey]
  }

  const timerOf = (namespace: string, timerId: string, delay = "0s") => ({
    namespace,
    timerId,
    delay,
    callbackUrl: "http://127.0.0.1:9/",
  })

  test("shows a key of some namespaces what it may see, and says what it may not", () =>
    // The clock of the service is far from that of this machine.
    withService({ deliver, clockStartMs: Date.UTC(2030, 0, 1) }, async (service) => {
      const rights = { actions: ["timers.read"], namespaces: ["billing", "team-*"] }
      const [admin, key] = await makeKeys(service, rights)
      const ask = (path: string, body: object) => postAs(service, admin, path, body)
      await ask("timers/create", timerOf("billing", "good-before"))
      await ask("timers/create", timerOf("billing", "next", "1h"))
      await ask("clock/advance", { by: "10ms" })
      const watch = watching(service.url, [], undefined, key)
      const screen = watching(service.url, [], 200, key)
      await watch.until("it watches", /Watching billing, team-\*/)
      await watch.until("what it cannot see", /Without service.read for all namespaces, .* pause/)
      await watch.until("what else", /Without namespaces.read, .* pauses of namespaces/)
      await screen.until("the counts", /billing +1 +0 +\?/)
      for (const namespace of ["billing", "other", "team-a"]) {
        await ask("timers/create", timerOf(namespace, "good"))
        await ask("timers/create", timerOf(namespace, "bad"))
      }
      await ask("clock/advance", { by: "10ms" })
      for (const namespace of ["billing", "team-a"]) {
        await watch.until("a delivery", new RegExp(`delivered {2}${namespace}/good `))
        await watch.until("a dead letter", new RegExp(`dead {7}${namespace}/bad `))
      }
      await screen.until("a delivery", /delivered {2}team-a\/good /)
      expect([await watch.stop(), await screen.stop()]).toEqual([0, 0])
      const shown = [...watch.lines, ...screen.lines].join("\n")
      expect(shown).not.toContain("other/")
      expect(watch.lines.join("\n")).not.toContain("good-before")
    }))

  test("works with timers.read alone for all namespaces, and refuses a key that may not read timers", () =>
    withService({ deliver }, async (service) => {
      const [admin, key] = await makeKeys(service, { actions: ["timers.read"] })
      const watch = watching(service.url, [], undefined, key)
      await watch.until("it watches", /Watching \*/)
      await watch.until("what it cannot see", /name namespaces with --namespace/)
      await postAs(service, admin, "timers/create", timerOf("billing", "bad"))
      await watch.until("a dead letter", /dead {7}billing\/bad /)
      expect(await watch.stop()).toBe(0)
      const blind = await postAs(service, admin, "keys/create", {
        label: "blind",
        actions: ["namespaces.read"],
        namespaces: ["billing"],
      })
      const refused = await run(["watch", "--url", service.url, "--namespace", "billing"], {
        environment: { TIMER_API_KEY: blind.json.apiKey },
      })
      expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining("timers.read")])
    }))

  test("says that changes are missing only if it did not read them", () =>
    withService({ deliver, clockStartMs: Date.UTC(2030, 0, 1) }, async (service) => {
      const poll = new WatchPoll(withoutKey(service.url), ["billing"])
      const deliveries = async (name: string, count: number) => {
        for (let n = 0; n < count; n++) await create(service, `good-${name}-${n}`)
        await service.post("clock/advance", { by: "10ms" })
        await eventually("all are delivered", async () =>
          (await service.call("count", { namespace: "billing", state: "pending" })).json.count === 0
            ? true
            : undefined,
        )
        const { changes, hasMissed } = await Effect.runPromise(poll.next)
        return { shown: changes.filter(({ kind }) => kind === "delivered").length, hasMissed }
      }
      await Effect.runPromise(poll.next)
      expect(await deliveries("a", 30)).toEqual({ shown: 30, hasMissed: false })
      // The turn reads the first deliveries again, and its page cannot hold all of them.
      expect(await deliveries("b", 30)).toEqual({ shown: 30, hasMissed: false })
      expect(await deliveries("c", 60)).toEqual({ shown: 50, hasMissed: true })
    }))

  test("refuses what is wrong at once", async () => {
    expect((await run(["watch", "--url", "http://127.0.0.1:9"])).exitCode).toBe(1)
    for (const args of [
      ["--namespace", "_x"],
      ["--interval", "1ms"],
      ["--interval", "soon"],
    ]) {
      expect([args, (await run(["watch", ...args])).exitCode]).toEqual([args, 2])
    }
  })
})
