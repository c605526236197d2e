// The databases that Stores compares, besides SQLite and PostgreSQL. Each measurement gets a new server, from the test kit.
import { CassandraClusterStore } from "@punctual/server/testkit/CassandraClusterStore"
import type { ClusterStoreKind } from "@punctual/server/testkit/ClusterStore"
import { DynamoClusterStore } from "@punctual/server/testkit/DynamoClusterStore"
import { MongodbClusterStore } from "@punctual/server/testkit/MongodbClusterStore"
import { MysqlClusterStore } from "@punctual/server/testkit/MysqlClusterStore"

export interface StoreServer {
  readonly id: string
  readonly name: string
  /** How durable an answered create is on the server of the test kit, and what kind of server it is. */
  readonly terms: string
  kind(): ClusterStoreKind
}

export const storeServers: ReadonlyArray<StoreServer> = [
  {
    id: "mysql",
    name: "MySQL",
    terms: "on disk: innodb_flush_log_at_trx_commit 1, no binary log",
    kind: () => MysqlClusterStore.kind("mysql"),
  },
  {
    id: "mariadb",
    name: "MariaDB",
    terms: "on disk: innodb_flush_log_at_trx_commit 1, no binary log",
    kind: () => MysqlClusterStore.kind("mariadb"),
  },
  {
    id: "tidb",
    name: "TiDB",
    terms: "one process (unistore), without TiKV and PD",
    kind: () => MysqlClusterStore.kind("tidb"),
  },
  {
    id: "mongodb",
    name: "MongoDB",
    terms: "FerretDB on PostgreSQL with fsync off: not on disk. A MongoDB server is faster",
    kind: () => MongodbClusterStore.kind,
  },
  {
    id: "cassandra",
    name: "Cassandra",
    terms: "on disk: one node, one copy, group commit log; a JVM with its first compiler only",
    kind: () => CassandraClusterStore.kind,
  },
  {
    id: "dynamodb",
    name: "DynamoDB",
    terms: "DynamoDB Local, one writer, data in memory; says nothing about AWS",
    kind: () => DynamoClusterStore.kind,
  },
]
