import { afterAll, beforeAll } from "bun:test"
import { Effect } from "effect"
import { busSuite } from "../../../testkit/Bus.suite.ts"
import { realTime } from "../../../testkit/BusFixture.ts"
import { describeNats } from "../../../testkit/NatsBinary.ts"
import { NatsRig } from "../../../testkit/NatsRig.ts"

describeNats("on a real broker", () => {
  let rig: NatsRig
  beforeAll(async () => {
    rig = await NatsRig.start()
  })
  afterAll(() => rig[Symbol.asyncDispose]())

  busSuite("NATS JetStream", {
    fresh: (intake) => rig.freshBus(intake),
    time: realTime,
    listenElsewhere: () => Effect.void,
    inject: (tenant, bytes) =>
      Effect.promise(() => rig.manager.jetstream().publish(`svc.${tenant}.serviceCall`, bytes)),
  })
})
