import { Effect } from "effect"
import { KafkaProducer } from "../../src/kafka/KafkaProducer.ts"
import { kafkaAbilities } from "../../src/kafka/KafkaSubscription.ts"
import { rigOfFile } from "../../testkit/BrokerRig.ts"
import { busSuite } from "../../testkit/Bus.suite.ts"
import { realTime } from "../../testkit/BusFixture.ts"
import { KafkaRig } from "../../testkit/KafkaRig.ts"
import { describeKafka } from "../../testkit/KafkaServer.ts"

describeKafka("on a real broker", () => {
  const rig = rigOfFile(() => KafkaRig.start())

  busSuite("Kafka", {
    fresh: (intake) => rig().freshBus(intake),
    abilities: kafkaAbilities,
    time: realTime,
    listenElsewhere: () => Effect.void,
    inject: (tenant, bytes) =>
      Effect.promise(async () => {
        const producer = new KafkaProducer(await rig().cluster(), 5_000)
        const key = Buffer.from(`${tenant}.call-1`)
        const record = { topic: rig().topic, partition: 0, key, value: Buffer.from(bytes) }
        await producer.send([{ ...record, headers: { tenantId: tenant } }])
        producer.close()
      }),
  })
})
