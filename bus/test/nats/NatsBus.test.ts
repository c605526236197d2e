import { afterAll, beforeAll, expect, test } from "bun:test"
import type { CorrelationId } from "@punctual/api/CorrelationId"
import { Effect } from "effect"
import type { AggregateId } from "../../src/AggregateId.ts"
import { Bus } from "../../src/Bus.ts"
import { natsAbilities } from "../../src/nats/NatsSubscription.ts"
import { busSuite } from "../../testkit/Bus.suite.ts"
import { realTime, sampleMessage } from "../../testkit/BusFixture.ts"
import { describeNats } from "../../testkit/NatsBinary.ts"
import { NatsRig } from "../../testkit/NatsRig.ts"

describeNats("on a real broker", () => {
  let rig: NatsRig
  beforeAll(async () => {
    rig = await NatsRig.start()
  })
  afterAll(() => rig[Symbol.asyncDispose]())

  busSuite("NATS JetStream", {
    fresh: (intake) => rig.freshBus(intake),
    abilities: natsAbilities,
    time: realTime,
    listenElsewhere: () => Effect.void,
    inject: (tenant, bytes) =>
      Effect.promise(() => rig.manager.jetstream().publish(`svc.${tenant}.samples`, bytes)),
  })

  test("an id cannot begin a header of its own", async () => {
    await rig.renew()
    const forged = "call-1\r\nNats-Rollup: all"
    const messages = [
      { ...sampleMessage(), aggregateId: forged as AggregateId },
      { ...sampleMessage(), correlationId: forged as CorrelationId },
    ]
    for (const message of messages) {
      const refused = Effect.flatMap(Bus, (bus) => Effect.flip(bus.publish([message])))
      const { isPermanent } = await Effect.runPromise(Effect.provide(refused, rig.bus()))
      expect(isPermanent).toBe(true)
    }
  })
})
