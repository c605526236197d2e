// A frozen owner on every database that nodes can share.
import { CassandraClusterStore } from "../../testkit/CassandraClusterStore.ts"
import { DynamoClusterStore } from "../../testkit/DynamoClusterStore.ts"
import { frozenOwnerSuite } from "../../testkit/FrozenOwner.suite.ts"
import { MongodbClusterStore } from "../../testkit/MongodbClusterStore.ts"
import { MysqlClusterStore } from "../../testkit/MysqlClusterStore.ts"
import type { MysqlFlavour } from "../../testkit/MysqlServer.ts"
import { describeMysql } from "../../testkit/mysql.ts"
import { PostgresClusterStore } from "../../testkit/PostgresClusterStore.ts"

frozenOwnerSuite(PostgresClusterStore.kind)
for (const flavour of ["mysql", "mariadb", "tidb"] satisfies ReadonlyArray<MysqlFlavour>) {
  describeMysql(flavour, `on ${flavour}`, () => frozenOwnerSuite(MysqlClusterStore.kind(flavour)))
}
frozenOwnerSuite(MongodbClusterStore.kind)
frozenOwnerSuite(DynamoClusterStore.kind)
frozenOwnerSuite(CassandraClusterStore.kind)
