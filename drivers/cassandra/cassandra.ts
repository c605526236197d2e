// The part of the Cassandra client that Punctual uses. Code that needs the client imports this file by its path. So
// every tool resolves the packages from this folder, where `npm ci` puts them when a Cassandra URL is first configured.
import driver from "cassandra-driver"

export type CassandraClient = driver.Client
export type CassandraClientOptions = driver.ClientOptions
export type CassandraQueryOptions = driver.QueryOptions

export const { Client: CassandraDriverClient, auth, errors, policies, types } = driver
