// The agent and the Timer in one process, which kills itself at named steps on the way of a call while calls of several
// tenants are under way. Each bus is tried with each store. `npm run test:matrix` tries every step on every pair, with
// more calls.
import { expect, test } from "bun:test"
import { describeNats } from "@punctual/bus/testkit/NatsBinary"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { crashedCalls, isEveryCrashTried } from "@punctual/server/testkit/effort"
import { describePostgres } from "@punctual/server/testkit/PostgresBinaries"
import { serverForTests } from "@punctual/server/testkit/postgres"
import { SeededRandom } from "@punctual/server/testkit/SeededRandom"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { type StepName, stepNames } from "../../src/ports/Steps.ts"
import { AgentProcess } from "../../testkit/AgentProcess.ts"
import { CrashRun } from "../../testkit/CrashRun.ts"
import { startTarget } from "../../testkit/startTarget.ts"

const law = "loses no call and makes none twice, too early or for another tenant"
const callsPerStep = crashedCalls / stepNames.length
const tenants = isEveryCrashTried ? 20 : 5
const endWithinMs = 300_000
/** Only ends a test that hangs. */
const testWithinMs = (isEveryCrashTried ? 6 : 2) * endWithinMs

interface Surroundings {
  readonly settings?: Readonly<Record<string, string>>
  readonly broker?: NatsServer
}

const withRun = async (
  { settings = {}, broker }: Surroundings,
  body: (run: CrashRun, random: SeededRandom) => Promise<void>,
): Promise<void> => {
  using folder = new TemporaryFolder()
  await using target = startTarget()
  const random = new SeededRandom()
  const byBroker = broker === undefined ? {} : { TIMER_BROKER_URL: broker.url }
  await using agent = await AgentProcess.open({
    folder: folder.path,
    isMortal: true,
    settings: { ...byBroker, ...settings },
  })
  try {
    await body(new CrashRun({ agent, target, tenants, random, endWithinMs }), random)
  } catch (error) {
    throw new Error(`with seed ${random.seed}, after:\n${agent.stderr.slice(-4_000)}`, { cause: error })
  }
}

const killBroker = async (broker: NatsServer | undefined): Promise<void> => {
  await broker?.kill9()
  await broker?.restart()
}

/** The next death does not wait until the calls of the one before have ended. */
const dieAtEveryStep = (surroundings: Surroundings): Promise<void> =>
  withRun(surroundings, async (run, random) => {
    for (const [at, step] of stepNames.entries()) {
      await run.crash({ calls: callsPerStep, step, nth: 1 + random.below(callsPerStep) })
      if (at === stepNames.length / 2) await killBroker(surroundings.broker)
    }
    expect(await run.brokenPromises()).toEqual([])
  })

const dieOnce = (surroundings: Surroundings, step: StepName, nth: number): Promise<void> =>
  withRun(surroundings, async (run) => {
    await run.crash({ calls: 100, step, nth })
    await killBroker(surroundings.broker)
    expect(await run.brokenPromises()).toEqual([])
  })

/**
 * All deaths in the matrix, otherwise one. These tests mostly wait: a broker delivers messages of a dead process again
 * after half a minute. So they wait together.
 */
const pairTest = (
  pair: string,
  [step, nth]: readonly [StepName, number],
  within: (body: (surroundings: Surroundings) => Promise<void>) => Promise<void>,
): void => {
  if (isEveryCrashTried)
    test(`on ${pair}, a kill at each step ${law}`, () => within(dieAtEveryStep), testWithinMs)
  else {
    test.concurrent(
      `on ${pair}, a kill at ${step} ${law}`,
      () => within((surroundings) => dieOnce(surroundings, step, nth)),
      testWithinMs,
    )
  }
}

const withBroker = async (
  settings: Surroundings["settings"],
  body: (surroundings: Surroundings) => Promise<void>,
): Promise<void> => {
  await using broker = await NatsServer.start()
  await body({ broker, ...(settings === undefined ? {} : { settings }) })
}

if (isEveryCrashTried) pairTest("the local bus and SQLite", ["submit.stored", 1], (body) => body({}))
else {
  test(
    `on the local bus and SQLite, a kill at any step ${law}`,
    () =>
      withRun({}, async (run, random) => {
        for (const step of stepNames) {
          const nth = 1 + random.below(callsPerStep)
          await run.crash({ calls: callsPerStep, step, nth })
          expect([step, nth, ...(await run.brokenPromises())]).toEqual([step, nth])
        }
      }),
    testWithinMs,
  )
}

describeNats("on a broker or a database", () => {
  describePostgres("packaged", "on the packaged server", () => {
    const server = serverForTests("packaged")
    const settings = () => ({
      TIMER_STORE_URL: server().database().url,
      TIMER_CLUSTER_SECRET: "cd".repeat(32),
      AGENT_STORE_URL: server().database().url,
      AGENT_SECRET_KEY: "ab".repeat(32),
      // Here only the watchdog ends an attempt of a dead process, half a minute after this time.
      AGENT_CALL_TIMEOUT: "5s",
    })
    // At this step there is no attempt yet, so the test does not wait for the watchdog.
    const beforeAnyAttempt = ["execution.claimed", 1] as const

    pairTest("NATS and SQLite", ["execution.called", 40], (body) => withBroker({}, body))
    pairTest("the local bus and PostgreSQL", beforeAnyAttempt, (body) => body({ settings: settings() }))
    pairTest("NATS and PostgreSQL", beforeAnyAttempt, (body) => withBroker(settings(), body))
  })
})
