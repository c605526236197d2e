import { Effect } from "effect"
import { rabbitAbilities } from "../../src/rabbitmq/RabbitSubscription.ts"
import { rigOfFile } from "../../testkit/BrokerRig.ts"
import { busSuite } from "../../testkit/Bus.suite.ts"
import { realTime } from "../../testkit/BusFixture.ts"
import { describeRabbit } from "../../testkit/RabbitBinaries.ts"
import { RabbitRig } from "../../testkit/RabbitRig.ts"

describeRabbit("on a real broker", () => {
  const rig = rigOfFile(() => RabbitRig.start())

  busSuite("RabbitMQ", {
    fresh: (intake) => rig().freshBus(intake),
    abilities: rabbitAbilities,
    time: realTime,
    listenElsewhere: () => Effect.void,
    inject: (tenant, bytes) =>
      Effect.promise(() => rig().inject(`${rig().prefix}.samples`, `${tenant}.x`, bytes)),
  })
})
