import { expect, test } from "bun:test"
import type { CorrelationId } from "@punctual/api/CorrelationId"
import { Effect } from "effect"
import type { AggregateId } from "../../src/AggregateId.ts"
import { Bus } from "../../src/Bus.ts"
import { natsAbilities } from "../../src/nats/NatsSubscription.ts"
import { rigOfFile } from "../../testkit/BrokerRig.ts"
import { busSuite } from "../../testkit/Bus.suite.ts"
import { realTime, sampleMessage } from "../../testkit/BusFixture.ts"
import { describeNats } from "../../testkit/NatsBinary.ts"
import { NatsRig } from "../../testkit/NatsRig.ts"

describeNats("on a real broker", () => {
  const rig = rigOfFile(() => NatsRig.start())

  busSuite("NATS JetStream", {
    fresh: (intake) => rig().freshBus(intake),
    abilities: natsAbilities,
    time: realTime,
    listenElsewhere: () => Effect.void,
    inject: (tenant, bytes) =>
      Effect.promise(() => rig().manager.jetstream().publish(`svc.${tenant}.samples`, bytes)),
  })

  test("an id cannot begin a header of its own", async () => {
    await rig().renew()
    const forged = "call-1\r\nNats-Rollup: all"
    // The schemas of these ids refuse it. A program that does not use them can still pass it.
    const messages = [
      { ...sampleMessage(), aggregateId: forged as AggregateId },
      { ...sampleMessage(), correlationId: forged as CorrelationId },
    ]
    for (const message of messages) {
      const refused = Effect.flatMap(Bus, (bus) => Effect.flip(bus.publish([message])))
      const { isPermanent } = await Effect.runPromise(Effect.provide(refused, rig().bus()))
      expect(isPermanent).toBe(true)
    }
  })
})
