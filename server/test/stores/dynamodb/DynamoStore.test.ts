import { dynamoMissing } from "../../../testkit/DynamoServer.ts"
import { describeNeeding } from "../../../testkit/describeUnless.ts"
import { dynamoFixture, dynamoForTests, dynamoStorageFixture } from "../../../testkit/dynamodb.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { shardStorageSuite } from "../../../testkit/ShardStorage.suite.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"

describeNeeding(dynamoMissing(), "on DynamoDB Local", () => {
  const server = dynamoForTests()
  const fixture = dynamoFixture(server)
  timerStoreSuite(fixture)
  shardStorageSuite(dynamoStorageFixture(server))
  shardLeasesSuite(fixture)
})
