// A cluster on MySQL, on MariaDB and on TiDB. Every run kills one node on the first two; the matrix tries all faults.
import { clusterFaultsSuite } from "../../testkit/ClusterFaults.suite.ts"
import { clusterFaultsTried } from "../../testkit/effort.ts"
import { MysqlClusterStore } from "../../testkit/MysqlClusterStore.ts"
import type { MysqlFlavour } from "../../testkit/MysqlServer.ts"
import { describeMysql } from "../../testkit/mysql.ts"

for (const flavour of ["mysql", "mariadb", "tidb"] satisfies ReadonlyArray<MysqlFlavour>) {
  describeMysql(flavour, `faults on ${flavour}`, () => {
    clusterFaultsSuite(MysqlClusterStore.kind(flavour), clusterFaultsTried)
  })
}
