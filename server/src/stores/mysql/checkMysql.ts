// Checks that a server is the named product, new enough, and keeps what it has acknowledged. Explains why a database
// cannot be opened. Every error is one sentence that names the place and says what to do.
import { DatabaseFailure, type DatabaseFailureReason } from "@punctual/sql/DatabaseFailure"
import { whyTlsFailed } from "@punctual/sql/databaseTls"
import { explainedCause } from "@punctual/sql/explained"
import { describeMysqlError, isTransient, mysqlCodeOf, numberOf } from "./failures.ts"
import type { Session } from "./MysqlSessions.ts"
import { type Flavour, type MysqlTarget, titles } from "./mysqlUrl.ts"

const oldest: { readonly [flavour in Flavour]: readonly [number, number] } = {
  mysql: [8, 0],
  mariadb: [10, 11],
  tidb: [7, 5],
}

/** Settings that would lose or damage acknowledged timers, with the values that keep them. */
const durableValues: ReadonlyArray<readonly [setting: string, values: ReadonlyArray<string>]> = [
  ["innodb_flush_log_at_trx_commit", ["1"]],
  ["innodb_doublewrite", ["ON", "1", "DETECT_AND_RECOVER", "FAST"]],
]

/** A commit of 4 MiB, with its payloads as hexadecimal digits, and room for everything else. */
const packetBytes = 16 << 20

const readSettings = ["super_read_only", "read_only"]

export const checkMysql = async (session: Session, target: MysqlTarget): Promise<void> => {
  const wanted = [...durableValues.map(([name]) => name), "max_allowed_packet", ...readSettings]
  const [versions, rows = []] = await session.run<{
    readonly version: string
    readonly Variable_name: string
    readonly Value: string
  }>([
    "SELECT VERSION() AS version",
    `SHOW VARIABLES WHERE Variable_name IN (${wanted.map((name) => `'${name}'`).join(", ")})`,
  ])
  const settings = new Map(rows.map((row) => [row.Variable_name, row.Value]))
  const unfit = whyMysqlUnfit(target, versions?.[0]?.version ?? "", settings)
  if (unfit !== undefined) throw new DatabaseFailure(...unfit)
}

export const whyMysqlUnfit = (
  { name, flavour }: Pick<MysqlTarget, "name" | "flavour">,
  version: string,
  settings: ReadonlyMap<string, string>,
): [DatabaseFailureReason, string] | undefined => {
  const product = productOf(version)
  if (product.flavour !== flavour) {
    return [
      "refused",
      `${name} is on ${titles[product.flavour]}: begin the store's URL with ${product.flavour}:// instead of ${flavour}://.`,
    ]
  }
  const [major, minor] = oldest[flavour]
  if (product.major < major || (product.major === major && product.minor < minor)) {
    return [
      "serverTooOld",
      `${name} is on ${titles[flavour]} ${product.major}.${product.minor}: ${major}.${minor} or newer is needed.`,
    ]
  }
  for (const [setting, values] of flavour === "tidb" ? [] : durableValues) {
    const value = settings.get(setting)
    if (value !== undefined && !values.includes(value.toUpperCase())) {
      return [
        "notDurable",
        `${name} has ${setting}=${value} and could lose or corrupt acknowledged timers in a crash: set it to ${values[0]} at the server.`,
      ]
    }
  }
  if (readSettings.some((setting) => /^(?:ON|1)$/i.test(settings.get(setting) ?? ""))) {
    return ["standby", `${name} is read-only: name the primary, or turn read_only off.`]
  }
  const packet = Number(settings.get("max_allowed_packet") ?? packetBytes)
  return packet >= packetBytes
    ? undefined
    : [
        "refused",
        `${name} has max_allowed_packet=${packet}, which is less than a commit may need: set it to at least ${packetBytes} at the server.`,
      ]
}

/** Such as 9.7.4, 10.11.19-MariaDB, 8.0.11-TiDB-v8.4.0. */
const productOf = (version: string) => {
  const tidb = /TiDB-v?(\d+)\.(\d+)/.exec(version)
  const mariadb = /(\d+)\.(\d+)\.\d+-MariaDB/i.exec(version)
  const found = tidb ?? mariadb ?? /^(\d+)\.(\d+)/.exec(version)
  const flavour: Flavour = tidb !== null ? "tidb" : mariadb !== null ? "mariadb" : "mysql"
  return { flavour, major: Number(found?.[1] ?? 0), minor: Number(found?.[2] ?? 0) }
}

const inUrl = "the store's URL (TIMER_STORE_URL)"

/** Turns an error of an opening into a sentence that names the place and says what to do. */
export const explainedMysql = async (error: unknown, target: MysqlTarget): Promise<DatabaseFailure> => {
  if (error instanceof DatabaseFailure) return error
  const number = numberOf(error)
  const code = number === 0 ? mysqlCodeOf(error) : ""
  const message = error instanceof Error ? error.message : ""
  const untrusted =
    number === 0 ? whyTlsFailed({ code, state: "", message }, target.tls.mode, inUrl) : undefined
  const cause = {
    text: describeMysqlError(error),
    refused: untrusted ?? whyRefused(number, code, target),
    isUnreachable: number === 0 || isTransient(error),
    isUnanswered: number === 0,
  }
  return explainedCause(cause, target, inUrl)
}

const noRights = [1142, 1143, 1227, 1370, 1419, 1044]

/** Says what to do about the refusal. The text names the user, and never a password. */
const whyRefused = (
  number: number,
  code: string,
  { user, database, tls }: MysqlTarget,
): string | undefined => {
  const who = user === "" ? "the user (the URL names none)" : `the user ${user}`
  if (number === 1045 || number === 1698) {
    return `the server refused the password of ${who}: correct user and password in ${inUrl}.`
  }
  if (number === 1130)
    return `the server does not let ${who} connect from this machine: create the user for it.`
  if (number === 1049) {
    return `there is no database ${database}: create it (CREATE DATABASE \`${database}\`), or name another in ${inUrl}.`
  }
  if (noRights.includes(number)) {
    return `${who} lacks rights: GRANT ALL ON \`${database}\`.* TO this user, or name another user in ${inUrl}.`
  }
  // The driver reports a server without TLS as a failed authentication.
  if (/AUTH/.test(code) && tls.mode !== "disable") {
    return `the server offers no TLS, and sslmode=${tls.mode} requires it: turn on TLS at the server, or change sslmode in ${inUrl}.`
  }
  return number === 3159 || number === 1835 || /AUTH/.test(code)
    ? `the server wants TLS for ${who}: add sslmode=verify-full or sslmode=require to ${inUrl}.`
    : undefined
}
