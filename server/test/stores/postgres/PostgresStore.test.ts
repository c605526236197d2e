import { namespaceStoreSuite } from "../../../testkit/NamespaceStore.suite.ts"
import { describePostgres, type PostgresKind } from "../../../testkit/PostgresBinaries.ts"
import { postgresFixture, serverForTests } from "../../../testkit/postgres.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"

for (const kind of ["installed", "packaged"] satisfies ReadonlyArray<PostgresKind>) {
  describePostgres(kind, `on the ${kind} server`, () => {
    const fixture = postgresFixture(kind, serverForTests(kind))
    timerStoreSuite(fixture)
    shardLeasesSuite(fixture)
    namespaceStoreSuite(fixture)
  })
}
