import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { eventually } from "@punctual/server/testkit/eventually"
import type { AttackTerms } from "../../src/isolation/AttackTerms.ts"
import { prepareAttack } from "../../src/isolation/prepareAttack.ts"

const body = '{"status":400}'

/** A server that answers every request to its end, and records how many it saw and from where. */
const victim = () => {
  const seen = { requests: 0, addresses: new Set<string>() }
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: async (request) => {
      await request.arrayBuffer()
      seen.requests++
      seen.addresses.add(server.requestIP(request)?.address ?? "")
      return new Response(body, { status: 400 })
    },
  })
  return { seen, url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) }
}

const small = (url: string): AttackTerms => ({
  url,
  kind: "bodies",
  body: "emptyObjects",
  bytes: 1_000,
  clients: 2,
})

describe("an attacker's process", () => {
  test("has the lowest priority, attacks from an address of its own, and reports what it got", async () => {
    await using target = victim()
    await using attack = await prepareAttack(small(target.url), { seconds: 60 })
    const niceness = readFileSync(`/proc/${attack.pid}/stat`, "utf8").split(") ")[1]?.split(" ")[16]
    expect(niceness).toBe("19")
    expect(target.seen.requests).toBe(0)
    attack.go()
    await eventually("some requests", () => (target.seen.requests >= 10 ? true : undefined))
    const counts = await attack.stop()
    expect(counts["400"]).toBeGreaterThan(0)
    expect(await attack.exited).toBe(0)
    expect([...target.seen.addresses].sort()).toEqual(["127.66.0.1", "127.66.0.2"])
  })

  test("ends after its time limit", async () => {
    await using target = victim()
    await using attack = await prepareAttack(small(target.url), { seconds: 0.5 })
    expect(await attack.exited).toBe(3)
  })

  test("ends when the bench ends without a word", async () => {
    await using target = victim()
    const source = [
      `import { prepareAttack } from ${JSON.stringify(new URL("../../src/isolation/prepareAttack.ts", import.meta.url).pathname)}`,
      `const attack = await prepareAttack(${JSON.stringify(small(target.url))}, { seconds: 60 })`,
      "attack.go()",
      "console.log(attack.pid)",
      "await attack.exited",
    ].join("\n")
    const bench = Bun.spawn([process.execPath, "-e", source], { stdout: "pipe", stderr: "inherit" })
    const reader = bench.stdout.getReader()
    const pid = Number(new TextDecoder().decode((await reader.read()).value))
    expect(isRunning(pid)).toBe(true)
    bench.kill("SIGKILL")
    await bench.exited
    await eventually("the attacker ends", () => (isRunning(pid) ? undefined : true))
  })
})

const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}
