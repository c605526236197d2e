// What errors of the driver mean: sentences for a failed opening, and whether a failure is fatal. A cluster takes care of
// its own disks, so a failed call is repeated. The process ends only if the tables are missing.
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { errors, types } from "../../../../drivers/cassandra/cassandra.ts"
import type { CassandraTarget } from "./cassandraUrl.ts"

const { responseErrorCodes } = types

const codeOf = (error: unknown): number | undefined =>
  error instanceof errors.ResponseError ? error.code : undefined

/** The text of an error, without stacks. The driver's texts have no credentials. */
export const describeCassandraError = (error: unknown): string => {
  if (!(error instanceof errors.NoHostAvailableError)) return firstLine(error)
  const causes = Object.entries(error.innerErrors ?? {}).map(
    ([host, cause]) => `${host}: ${firstLine(cause)}`,
  )
  return causes.length === 0 ? "no node answers" : causes.join("; ").slice(0, mostCharacters)
}

const mostCharacters = 500

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1).join("").slice(0, mostCharacters)

/** A table or a column is not there, or not yet. */
export const isOfSchema = (error: unknown): boolean =>
  /unconfigured table|undefined column|does not exist|unknown identifier|schema/i.test(
    describeCassandraError(error),
  ) && error instanceof errors.ResponseError

/** The tables are gone, or are not those of this program. */
export const isFatal = (error: unknown): boolean =>
  codeOf(error) === responseErrorCodes.invalid && isOfSchema(error)

export const explainedCassandra = (error: unknown, target: CassandraTarget): DatabaseFailure =>
  new DatabaseFailure("failed", `${target.shown} cannot be ${causeOf(error, target)}`)

const causeOf = (error: unknown, target: CassandraTarget): string => {
  const { user, hosts, dataCenter, keyspace } = target
  const who = user === undefined ? "a client without a user" : `the user ${user}`
  const text = describeCassandraError(error)
  if (isOf(errors.AuthenticationError, error) || /AuthenticationError|Authentication|password/i.test(text))
    return `used: the server refused ${who}. Correct user and password in TIMER_STORE_URL.`
  if (codeOf(error) === responseErrorCodes.unauthorized)
    return `used (${text}): ${who} needs CREATE, ALTER, SELECT and MODIFY on the keyspace ${keyspace}. Run GRANT ALL PERMISSIONS ON KEYSPACE ${keyspace} TO ${user ?? "a user"}.`
  if (/localDataCenter|data ?center/i.test(text))
    return `used: no node belongs to the data centre ${dataCenter} (${text}). Set dc in TIMER_STORE_URL.`
  if (/certificate|self.signed|SSL|TLS|wrong version number|ERR_TLS|altname/i.test(text))
    return `used, because the encrypted connection failed (${text}). Set ca in TIMER_STORE_URL to the file of the certificate authority, or tls=off if the servers do not encrypt.`
  if (error instanceof errors.NoHostAvailableError || error instanceof errors.OperationTimedOutError)
    return `reached (${text}): a node must run at ${hosts.join(" or ")}, and accept connections from here.`
  return `opened: ${text}.`
}

/** The errors of the nodes that were tried say more than the driver's own. */
const isOf = (kind: new (...args: never) => Error, error: unknown): boolean =>
  error instanceof kind ||
  (error instanceof errors.NoHostAvailableError &&
    Object.values(error.innerErrors ?? {}).some((cause) => cause instanceof kind))
