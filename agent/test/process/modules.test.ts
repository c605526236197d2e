// The modules of the agent and the Timer in processes of their own, on a real broker and a real database.
import { expect, test } from "bun:test"
import { describeKafka, KafkaServer } from "@punctual/bus/testkit/KafkaServer"
import { describeNats } from "@punctual/bus/testkit/NatsBinary"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { describeRabbit } from "@punctual/bus/testkit/RabbitBinaries"
import { RabbitServer } from "@punctual/bus/testkit/RabbitServer"
import { describePostgres } from "@punctual/server/testkit/PostgresBinaries"
import { serverForTests } from "@punctual/server/testkit/postgres"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { AgentProcess } from "../../testkit/AgentProcess.ts"
import { CalledService } from "../../testkit/CalledService.ts"

describeNats("on a broker", () => {
  test("the agent and the Timer work in two processes", async () => {
    using folder = new TemporaryFolder()
    using service = await CalledService.start()
    await using broker = await NatsServer.start()
    const settings = { TIMER_BROKER_URL: `nats://${broker.address}` }
    const { path } = folder
    await using _timer = await AgentProcess.saying("Punctual", {
      folder: path,
      args: ["--modules", "timer"],
      settings,
    })
    await using agent = await AgentProcess.open({
      folder: path,
      args: ["--modules=api,orchestration,execution"],
      settings,
    })
    await agent.call("POST", "", {
      serviceCallId: "c",
      delay: "1s",
      request: { method: "GET", url: `${service.url}/one` },
    })
    expect((await agent.ended("c")).status).toBe("Succeeded")
    expect(service.times("/one")).toBe(1)
  })

  describePostgres("packaged", "on the packaged server", () => {
    const server = serverForTests("packaged")

    test("every module works in a process of its own", async () => {
      using folder = new TemporaryFolder()
      using service = await CalledService.start()
      await using broker = await NatsServer.start()
      const settings = {
        TIMER_BROKER_URL: `nats://${broker.address}`,
        AGENT_STORE_URL: server().database().url,
        AGENT_SECRET_KEY: "ab".repeat(32),
      }
      const { path } = folder
      const start = (module: string, text: string) =>
        AgentProcess.saying(text, { folder: path, args: ["--modules", module], settings })
      await using _timer = await start("timer", "Punctual")
      await using _orchestration = await start("orchestration", "without its API: orchestration")
      await using _execution = await start("execution", "without its API: execution")
      await using api = await start("api", "The Service Agent listens on")
      await api.call("POST", "", {
        serviceCallId: "now",
        request: { method: "GET", url: `${service.url}/now` },
      })
      await api.call("POST", "", {
        serviceCallId: "later",
        delay: "1s",
        request: { method: "GET", url: `${service.url}/later` },
      })
      expect((await api.ended("now")).status).toBe("Succeeded")
      expect((await api.ended("later")).status).toBe("Succeeded")
      expect([service.times("/now"), service.times("/later")]).toEqual([1, 1])
    })
  })
})

describeRabbit("on RabbitMQ", () => {
  test("the agent that starts before the Timer loses nothing, and both work in two processes", async () => {
    using folder = new TemporaryFolder()
    using service = await CalledService.start()
    await using broker = await RabbitServer.start()
    const settings = { TIMER_BROKER_URL: broker.url }
    const { path } = folder
    await using agent = await AgentProcess.open({
      folder: path,
      args: ["--modules=api,orchestration,execution"],
      // Its keys would be in the Timer's store, which does not exist yet.
      settings: { ...settings, AGENT_AUTH: "off" },
    })
    // The broker keeps the command for the Timer, which has never run.
    await agent.call("POST", "", {
      serviceCallId: "c",
      delay: "1s",
      request: { method: "GET", url: `${service.url}/one` },
    })
    await using _timer = await AgentProcess.saying("Punctual", {
      folder: path,
      args: ["--modules", "timer"],
      settings,
    })
    expect((await agent.ended("c")).status).toBe("Succeeded")
    expect(service.times("/one")).toBe(1)
  })
})

describeKafka("on Kafka", () => {
  test("the agent and the Timer work in two processes", async () => {
    using folder = new TemporaryFolder()
    using service = await CalledService.start()
    await using broker = await KafkaServer.start()
    const settings = { TIMER_BROKER_URL: broker.url }
    const { path } = folder
    await using _timer = await AgentProcess.saying("Punctual", {
      folder: path,
      args: ["--modules", "timer"],
      settings,
    })
    await using agent = await AgentProcess.open({
      folder: path,
      args: ["--modules=api,orchestration,execution"],
      settings,
    })
    await agent.call("POST", "", {
      serviceCallId: "c",
      delay: "1s",
      request: { method: "GET", url: `${service.url}/one` },
    })
    expect((await agent.ended("c")).status).toBe("Succeeded")
    expect(service.times("/one")).toBe(1)
  })
})
