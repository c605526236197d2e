// `punctual events` beside a real service: lines as events happen, a service that goes away, and how it ends.
import { describe, expect, test } from "bun:test"
import { EventBlocks } from "../../../src/cli/events/EventBlocks.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { TcpProxy } from "../../../testkit/TcpProxy.ts"
import { type RunningService, withService } from "../../http/ServiceFixture.ts"
import { run } from "../CommandFixture.ts"

/** The command, until it is stopped. */
const following = (url: string, args: ReadonlyArray<string> = []) => {
  const lines: Array<string> = []
  const remarks: Array<string> = []
  const stopped = Promise.withResolvers<void>()
  const ended = run(["events", "--url", url, ...args], {
    out: async (text) => void lines.push(...text.split("\n").filter((line) => line !== "")),
    err: async (text) => void remarks.push(text),
    onStop: (stop) => {
      void stopped.promise.then(stop)
      return () => {}
    },
  })
  const until = (pattern: RegExp) =>
    eventually(`${pattern}`, () => [...lines, ...remarks].find((line) => pattern.test(line)))
  return {
    lines,
    until,
    stop: async () => {
      stopped.resolve()
      return (await ended).exitCode
    },
  }
}

const create = ({ call }: RunningService, namespace: string, timerId: string) =>
  call("create", { namespace, timerId, delay: "1h", callbackUrl: "http://127.0.0.1:9/" })

describe("events", () => {
  test("writes a line for each event that is asked for, and ends with exit code 0", () =>
    withService({}, async (service) => {
      const events = following(service.url, [
        "--namespace",
        "team-*",
        "--type",
        "created",
        "--type",
        "cancelled",
      ])
      await events.until(/Following the events of all nodes/)
      await create(service, "other", "t")
      await create(service, "team-a", "t")
      await service.call("update", { namespace: "team-a", timerId: "t", delay: "2h" })
      await service.call("delete", { namespace: "team-a", timerId: "t" })
      await events.until(/ {2}cancelled {2}team-a\/t {2}cancelled$/)
      expect(await events.stop()).toBe(0)
      expect(events.lines).toHaveLength(3)
      expect(events.lines[1]).toMatch(/^\d{4}-.*Z {2}created {4}team-a\/t {2}pending$/)
    }))

  test("writes JSON, and continues without a gap after an interruption", () =>
    withService({}, async (service) => {
      await using proxy = await TcpProxy.before({ host: "127.0.0.1", port: service.port })
      const events = following(`http://${proxy.address}`, ["--json"])
      await events.until(/"nodes"/)
      await create(service, "shop", "before")
      await events.until(/before/)
      proxy.cut()
      await events.until(/does not answer; trying again/)
      await create(service, "shop", "meanwhile")
      proxy.heal()
      await events.until(/meanwhile/)
      expect(await events.stop()).toBe(0)
      expect(events.lines.map((line) => JSON.parse(line))).toMatchObject([
        { event: "nodes", missing: [] },
        { event: "created", namespace: "shop", timerId: "before", state: "pending" },
        { event: "nodes", missing: [] },
        { event: "created", namespace: "shop", timerId: "meanwhile", state: "pending" },
      ])
    }))

  test("fails at once if the service refuses or does not exist", () =>
    withService({}, async ({ url }) => {
      const refused = await run(["events", "--url", url, "--namespace", "_x"])
      expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining("namespaces.0")])
      const wrongType = await run(["events", "--url", url, "--type", "broken"])
      expect(wrongType.exitCode).toBe(2)
      const nobody = await run(["events", "--url", "http://127.0.0.1:1"])
      expect([nobody.exitCode, nobody.err]).toEqual([1, expect.stringContaining("unreachable")])
    }))
})

test("the text of a stream is read in pieces of any length", () => {
  const bytes = new TextEncoder().encode(
    'retry: 2000\n\nevent: created\nid: a.1\ndata: {"timerId":"ü: €"}\n\n:\nid: a.2\n\nevent: gap\ndata: {}\n\n',
  )
  for (let size = 1; size <= bytes.length; size++) {
    const blocks = new EventBlocks()
    const got = []
    for (let at = 0; at < bytes.length; at += size) got.push(...blocks.take(bytes.subarray(at, at + size)))
    expect(got).toEqual([
      { event: "created", data: '{"timerId":"ü: €"}' },
      { event: "gap", data: "{}" },
    ])
    expect(blocks.lastId).toBe("a.2")
  }
})
