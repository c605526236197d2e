// `punctual agent` as a process: the agent and the Timer together, killed between submission and outcome, wrong settings,
// and a stop that waits for a call.
import { describe, expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { AgentProcess } from "../../testkit/AgentProcess.ts"
import { CalledService } from "../../testkit/CalledService.ts"

const get = (url: string) => ({ method: "GET", url })

describe("punctual agent", () => {
  test("with --demo makes calls now and later, and keeps them over a restart", async () => {
    using folder = new TemporaryFolder()
    await using agent = await AgentProcess.open({ folder: folder.path, args: ["--demo"] })
    const [, targets = ""] = /targets +(\S+)\/echo/.exec(agent.stdout) ?? []
    await agent.call("POST", "", { serviceCallId: "now", request: get(`${targets}/echo`) })
    const later = await agent.call("POST", "", {
      serviceCallId: "later",
      delay: "1s",
      request: { method: "POST", url: `${targets}/echo`, body: { n: 1 } },
    })
    expect((await agent.ended("now")).status).toBe("Succeeded")
    const ended = await agent.ended("later")
    expect(ended.status).toBe("Succeeded")
    expect(Date.parse(ended.startedAt)).toBeGreaterThanOrEqual(Date.parse(later.call.dueAt))
    expect(JSON.parse(ended.response.bodySnippet)).toMatchObject({ method: "POST", body: '{"n":1}' })
    const samples = await fetch(`${agent.url}/api/v1/tenants/demo/service-calls?limit=200`)
    expect(((await samples.json()) as { calls: ReadonlyArray<unknown> }).calls).toHaveLength(30)
    expect(await agent.terminate()).toBe(0)
    await agent.start()
    expect((await agent.call("GET", "/later")).call.version).toBe(ended.version)
  })

  test("keeps a scheduled call over a kill, and makes it once", async () => {
    using folder = new TemporaryFolder()
    using service = await CalledService.start()
    await using agent = await AgentProcess.open({ folder: folder.path })
    await agent.call("POST", "", { serviceCallId: "c", delay: "1s", request: get(`${service.url}/one`) })
    await agent.kill9()
    await agent.start()
    expect((await agent.ended("c")).status).toBe("Succeeded")
    expect(service.times("/one")).toBe(1)
  })

  test("does not repeat a call that was under way when it was killed", async () => {
    using folder = new TemporaryFolder()
    using service = await CalledService.start()
    await using agent = await AgentProcess.open({ folder: folder.path })
    await agent.call("POST", "", { serviceCallId: "c", request: get(`${service.url}/hold`) })
    await eventually("the service is called", () => (service.times("/hold") === 1 ? true : undefined))
    await agent.kill9()
    await agent.start()
    expect(await agent.ended("c")).toMatchObject({ status: "Failed", error: { kind: "outcomeUnknown" } })
    expect(service.times("/hold")).toBe(1)
  })

  test("refuses calls to addresses that its rules do not allow", async () => {
    using folder = new TemporaryFolder()
    await using agent = await AgentProcess.open({ folder: folder.path, settings: { AGENT_EGRESS: "public" } })
    const refused = await agent.call("POST", "", { request: get("http://127.0.0.1:9/") })
    expect([refused.status, refused.code, refused.errors[0].pointer]).toEqual([
      400,
      "egressRefused",
      "/request/url",
    ])
    expect(refused.detail).toContain("AGENT_EGRESS")
  })

  test("lets a call end before it stops", async () => {
    using folder = new TemporaryFolder()
    using service = await CalledService.start()
    await using agent = await AgentProcess.open({ folder: folder.path })
    await agent.call("POST", "", { serviceCallId: "c", request: get(`${service.url}/hold`) })
    await eventually("the service is called", () => (service.times("/hold") === 1 ? true : undefined))
    const exit = agent.terminate()
    await eventually("it drains", () => (agent.stderr.includes('"draining"') ? true : undefined))
    service.release()
    expect(await exit).toBe(0)
    await agent.start()
    expect((await agent.ended("c")).status).toBe("Succeeded")
    expect(service.times("/hold")).toBe(1)
  })
})

describe("wrong usage", () => {
  const endOf = async (args: ReadonlyArray<string>, settings: Record<string, string> = {}) => {
    using folder = new TemporaryFolder()
    await using agent = new AgentProcess({ folder: folder.path, args, settings })
    agent.launch()
    return { code: await agent.exit, stdout: agent.stdout, stderr: agent.stderr }
  }

  test("is refused before anything starts, with one line for each mistake", async () => {
    const wrong = await endOf([], { AGENT_HTTP_PROT: "1", TIMER_SHARDS: "x", AGENT_AUTH: "maybe" })
    expect([wrong.code, wrong.stdout]).toEqual([1, ""])
    expect(wrong.stderr).toContain("AGENT_HTTP_PROT is not a setting: did you mean AGENT_HTTP_PORT?")
    expect(wrong.stderr).toContain("AGENT_AUTH must be one of auto, required, off")
    expect(wrong.stderr).toContain("TIMER_SHARDS must be")
  })

  test("of modules and flags says what is possible", async () => {
    const flag = await endOf(["--dmo"])
    expect([flag.code, flag.stderr]).toEqual([2, expect.stringContaining("punctual agent [--modules")])
    const module = await endOf(["--modules", "api,exection"])
    expect([module.code, module.stderr]).toEqual([2, expect.stringContaining("Did you mean execution?")])
    const local = await endOf(["--modules", "api,orchestration,execution"])
    expect([local.code, local.stderr]).toEqual([1, expect.stringContaining("set TIMER_BROKER_URL")])
  })

  test("of an address that others can reach needs a key", async () => {
    const open = await endOf([], { AGENT_HTTP_HOST: "0.0.0.0" })
    expect([open.code, open.stderr]).toEqual([1, expect.stringContaining("punctual keys create --admin")])
  })
})
