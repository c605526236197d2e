// Every setting of the service: its name, its default and its allowed values. Validation, `--help` and the log of
// effective values all use this one table, so that they cannot differ.
import { formatDuration } from "@punctual/api/DurationMs"
import { parseInstant, whyNoInstant } from "@punctual/api/Instant"
import { defaultLimits, type Limits, limitSettingName } from "@punctual/api/Limits"
import { readCertificate, readPrivateKey } from "@punctual/door/pemFiles"
import { type EgressRules, parseEgress } from "@punctual/egress/Egress"
import { telemetrySettings } from "@punctual/telemetry/telemetrySettings"
import { Result } from "effect"
import { formLines, type Parsed, parseUrl, urlShown } from "../ports/Adapter.ts"
import type { BusAdapter } from "../ports/BusAdapter.ts"
import type { StoreAdapter, StoreChoice } from "../ports/StoreAdapter.ts"
import { type LogLevelName, logLevels } from "../program/Logs.ts"
import { accessSettings } from "./accessSettings.ts"
import { doorSettings } from "./doorSettings.ts"
import { parseClusterSecret, parseNodeAddress, parseNodeName } from "./NodeIdentity.ts"
import { parseDnsServers } from "./parseDnsServers.ts"
import { duration, pemFile, type Setting, setting, wholeNumber } from "./Setting.ts"
import { secretFileNames } from "./secretFiles.ts"
import { topicName } from "./topicName.ts"

/** The stores and buses to choose from. */
export interface Adapters {
  readonly stores: ReadonlyArray<StoreAdapter>
  readonly buses: ReadonlyArray<BusAdapter>
}

/** A part of a whole, in percent. */
const percentage = (text: string): Parsed<number> => {
  const value = /^\d{1,3}%$/.test(text) ? Number(text.slice(0, -1)) : Number.NaN
  return value <= 100 ? { value } : { problem: "must be from 0% to 100%, such as 20%" }
}

const onOrOff = (text: string): Parsed<"on" | "off"> =>
  text === "on" || text === "off" ? { value: text } : { problem: "must be on or off" }

/** The rules themselves say what is wrong with an entry. */
const egress = (text: string): Parsed<EgressRules> => {
  const rules = parseEgress(text)
  return Result.isSuccess(rules)
    ? { value: rules.success }
    : { problem: rules.failure.message, isWhole: true }
}

/** TIMER_DB_PATH is short for a URL with this scheme. */
const fileScheme = "sqlite:"

const databasePath =
  (stores: ReadonlyArray<StoreAdapter>) =>
  (path: string): Parsed<StoreChoice> =>
    path === "" ? { problem: "must name a file" } : parseUrl(stores, `${fileScheme}${path}`)

/** The first key seals, and all of them open. */
const parseSecretKeys = (text: string): Parsed<ReadonlyArray<Uint8Array>> => {
  const keys = text.split(",").map((key) => bytesOfKey(key.trim()))
  const whole = keys.filter((key) => key !== undefined)
  return whole.length === keys.length && whole.length <= 2
    ? { value: whole }
    : {
        problem:
          "must be 32 bytes, as 64 hex digits or in base64, or two such keys separated by a comma; create one with openssl rand -hex 32",
      }
}

const bytesOfKey = (text: string): Uint8Array | undefined => {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex")
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : undefined
}

const brokerSync = (sync: string): Parsed<"lazy" | "always"> =>
  sync === "lazy" || sync === "always" ? { value: sync } : { problem: "must be lazy or always" }

const brokerSubjects = (subjects: string): Parsed<"shared" | "split"> =>
  subjects === "shared" || subjects === "split" ? { value: subjects } : { problem: "must be shared or split" }

const queuesMax = 64

const brokerQueues = (queues: string): Parsed<number | "tenant"> => {
  if (queues === "tenant") return { value: queues }
  const count = /^\d{1,3}$/.test(queues) ? Number(queues) : 0
  return count >= 1 && count <= queuesMax
    ? { value: count }
    : { problem: `must be tenant, or a number of queues from 1 to ${queuesMax}` }
}

/** A part of a broker's address, in which a dot, a star or a space would have a special meaning. */
const addressWord = (word: string): Parsed<string> =>
  /^[A-Za-z0-9_-]{1,32}$/.test(word)
    ? { value: word }
    : { problem: "must be 1 to 32 of A-Z, a-z, 0-9, _ and -" }

export type ClockChoice =
  | { readonly kind: "system" }
  /** Stands still until it is moved. Without a start, it begins at the real time. */
  | { readonly kind: "manual"; readonly startMs?: number }

const clock = (text: string): Parsed<ClockChoice> => {
  if (text === "system") return { value: { kind: "system" } }
  if (text === "manual") return { value: { kind: "manual" } }
  if (!text.startsWith("manual:")) {
    return {
      problem:
        "must be system, manual, or manual:<instant> with an offset, such as manual:2030-01-01T00:00:00Z",
    }
  }
  const instant = text.slice("manual:".length)
  const startMs = parseInstant(instant)
  if (startMs === undefined) return { problem: `must have after manual: ${whyNoInstant(instant)}` }
  return startMs >= 0 && startMs <= latestStartMs
    ? { value: { kind: "manual", startMs } }
    : { problem: "must have after manual: an instant from the years 1970 to 8899" }
}

/** Far enough from the last four-digit year. */
const latestStartMs = Date.UTC(8900, 0, 1)

const logLevel = (level: string): Parsed<LogLevelName> =>
  Object.hasOwn(logLevels, level)
    ? { value: level as LogLevelName }
    : { problem: `must be one of ${Object.keys(logLevels).join(", ")}` }

const host = (name: string): Parsed<string> =>
  /^[A-Za-z0-9._:%-]{1,255}$/.test(name)
    ? { value: name }
    : { problem: "must be a host name or an address, such as 127.0.0.1, 0.0.0.0 or ::1" }

const dayMs = 86_400_000
const mebibyte = 1024 * 1024

export const storeUrlName = "TIMER_STORE_URL"
export const brokerUrlName = "TIMER_BROKER_URL"

const clusterSettings = {
  nodeAddress: setting(
    "TIMER_NODE_ADDRESS",
    "",
    "for nodes that share a store: host:port at which other nodes reach this one; default: what it listens on",
    parseNodeAddress,
  ),
  clusterSecret: setting(
    "TIMER_CLUSTER_SECRET",
    "",
    "for nodes that share a store: the secret by which they recognise each other, the same on all\nnodes; create one with openssl rand -hex 32",
    parseClusterSecret,
    () => "…",
  ),
  secretKeys: setting(
    "TIMER_SECRET_KEY",
    "",
    "the key that encrypts stored webhook secrets, the same on all nodes: 32 bytes in hex or base64;\ncreate one with openssl rand -hex 32; during a rotation: new key, comma, old key; if it is not set,\na service on SQLite creates a key when the first secret is set, in a file beside the store",
    parseSecretKeys,
    () => "…",
  ),
  nodeName: setting(
    "TIMER_NODE_NAME",
    "",
    "the name of this node, different on each node; default: host, process and a random suffix",
    parseNodeName,
  ),
} as const

const brokerSettings = {
  brokerCaFile: setting(
    "TIMER_BROKER_CA_FILE",
    "",
    "with TLS: the PEM file of the authority that signed the broker's certificate;\ndefault: the system's authorities",
    pemFile(readCertificate),
  ),
  brokerCertFile: setting(
    "TIMER_BROKER_CERT_FILE",
    "",
    "with TLS: the PEM file of this client's certificate, if the broker wants one",
    pemFile(readCertificate),
  ),
  brokerKeyFile: setting(
    "TIMER_BROKER_KEY_FILE",
    "",
    "with TLS: the PEM file of the private key that belongs to TIMER_BROKER_CERT_FILE",
    pemFile(readPrivateKey),
  ),
  brokerReplicas: setting(
    "TIMER_BROKER_REPLICAS",
    "1",
    "the replicas of the broker's stream, or of its topics, when the service creates them",
    wholeNumber(1, 5),
  ),
  brokerSync: setting(
    "TIMER_BROKER_SYNC",
    "lazy",
    "always: the server syncs every write (its sync_interval: always), so there is no warning at the start",
    brokerSync,
  ),
  brokerStream: setting(
    "TIMER_BROKER_STREAM",
    "svc",
    "the broker's stream that holds all messages",
    addressWord,
  ),
  brokerPrefix: setting(
    "TIMER_BROKER_PREFIX",
    "svc",
    "the prefix of every subject: <prefix>.<namespace>.serviceCall",
    addressWord,
  ),
  brokerTopic: setting(
    "TIMER_BROKER_TOPIC",
    "service.events",
    "on Kafka: the topic that all messages share, and the beginning of its other topics' names",
    topicName,
  ),
  brokerPartitions: setting(
    "TIMER_BROKER_PARTITIONS",
    "12",
    "on Kafka: the partitions of the topic, when the service creates it",
    wholeNumber(1, 1_000),
  ),
  brokerSubjects: setting(
    "TIMER_BROKER_SUBJECTS",
    "shared",
    "split: commands and events have separate subjects, which end in .commands and .events",
    brokerSubjects,
  ),
  brokerQueues: setting(
    "TIMER_BROKER_QUEUES",
    "8",
    "on RabbitMQ: how many queues share the messages; tenant: a queue for each namespace",
    brokerQueues,
  ),
} as const

const serviceSettings = {
  httpHost: setting("TIMER_HTTP_HOST", "127.0.0.1", "the address it listens on", host),
  httpPort: setting(
    "TIMER_HTTP_PORT",
    "8080",
    "the port it listens on; 0 picks a free one",
    wholeNumber(0, 65_535),
  ),
  pollingIntervalMs: setting(
    "TIMER_POLLING_INTERVAL",
    "5s",
    "how often the store is swept for due timers",
    duration(100, dayMs),
  ),
  batchSize: setting("TIMER_BATCH_SIZE", "500", "the page size of a read", wholeNumber(1, 10_000)),
  shards: setting(
    "TIMER_SHARDS",
    "16",
    "the number of shards; fixed when the store is created; some stores have another default",
    wholeNumber(1, 256),
  ),
  historyRetentionMs: setting(
    "TIMER_HISTORY_RETENTION",
    "7d",
    "how long delivered and cancelled timers are kept; dead letters stay until they are replayed or discarded",
    duration(0, 3653 * dayMs),
  ),
  auditRetentionMs: setting(
    "TIMER_AUDIT_RETENTION",
    "90d",
    "how long records of what operators did are kept",
    duration(dayMs / 24, 3653 * dayMs),
  ),
  egress: setting(
    "TIMER_EGRESS",
    "",
    "what callbacks may reach: open, or a list of public, private, loopback, ranges such as 10.0.0.0/8,\nnames such as hooks.example.com or *.internal, and host:name for a name without a dot;\ndefault: open if it listens on a loopback address, else public",
    egress,
  ),
  clock: setting(
    "TIMER_CLOCK",
    "system",
    "the clock for due times; for tests: manual, or manual:<instant> to set its start;\nonly /api/v1/clock/advance moves a manual clock",
    clock,
  ),
  logLevel: setting("TIMER_LOG", "info", "trace, debug, info, warn, error or none", logLevel),
  maxInFlight: setting(
    "TIMER_MAX_IN_FLIGHT",
    "200",
    "how many deliveries may run at once",
    wholeNumber(1, 10_000),
  ),
  maxInFlightPerNamespace: setting(
    "TIMER_MAX_IN_FLIGHT_PER_NAMESPACE",
    "100",
    "how many deliveries may run at once for one namespace",
    wholeNumber(1, 10_000),
  ),
  maxInFlightPerHost: setting(
    "TIMER_MAX_IN_FLIGHT_PER_HOST",
    "64",
    "how many deliveries of a namespace may go to one host at once",
    wholeNumber(1, 10_000),
  ),
  maxPendingPerNamespace: setting(
    "TIMER_MAX_PENDING_PER_NAMESPACE",
    "10000000",
    "the limit of pending timers for a namespace without its own maxPending;\ncreates beyond it are refused with 429",
    wholeNumber(1, 1_000_000_000),
  ),
  maxNamespaces: setting(
    "TIMER_MAX_NAMESPACES",
    "10000",
    "how many namespaces may have settings of their own; settings of further namespaces are refused",
    wholeNumber(1, 1_000_000),
  ),
  census: setting(
    "TIMER_CENSUS",
    "on",
    "whether stores with more than 100,000 pending timers are counted in the background, for estimates in histograms;\non or off, for example if reads of the database cost money",
    onOrOff,
  ),
  slowSharePercent: setting(
    "TIMER_SLOW_SHARE",
    "20%",
    "extra deliveries for hosts that have not answered for 5s, in percent of TIMER_MAX_IN_FLIGHT;\n0% turns this protection off",
    percentage,
  ),
  maxLookupsPerNamespace: setting(
    "TIMER_MAX_LOOKUPS_PER_NAMESPACE",
    "16",
    "how many host names of one namespace may be looked up at once",
    wholeNumber(1, 1_000),
  ),
  lookupTimeoutMs: setting(
    "TIMER_LOOKUP_TIMEOUT",
    "3s",
    "how long the lookup of a host name may take; then the attempt fails",
    duration(100, 60_000),
  ),
  dnsServers: setting(
    "TIMER_DNS_SERVERS",
    "",
    "the name servers for hosts of webhooks, such as 10.0.0.2,10.0.0.3:5353; default: those of the system",
    parseDnsServers,
  ),
  drainMs: setting(
    "TIMER_DRAIN_TIMEOUT",
    "25s",
    "how long running deliveries may take to finish when it stops",
    duration(0, 600_000),
  ),
  bodyTimeoutMs: setting(
    "TIMER_BODY_TIMEOUT",
    "30s",
    "how long a request's body may take to arrive",
    // A slow client holds a connection for this long.
    duration(100, 240_000),
  ),
  maxConnections: setting(
    "TIMER_MAX_CONNECTIONS",
    "10000",
    "how many connections clients may have open at once; fewer if the system allows the process fewer open files",
    wholeNumber(10, 1_000_000),
  ),
  maxConnectionsPerAddress: setting(
    "TIMER_MAX_CONNECTIONS_PER_ADDRESS",
    "1000",
    "how many of them one address may have (IPv6: one /64 network); raise it if all clients come through a proxy",
    wholeNumber(1, 1_000_000),
  ),
} as const

/** The settings that do not depend on the available stores and buses. */
export const settings = {
  ...clusterSettings,
  ...brokerSettings,
  ...accessSettings,
  ...serviceSettings,
  ...doorSettings,
} as const

/** Every setting, by its name in the program. */
export const settingsOf = ({ stores, buses }: Adapters) =>
  ({
    storeUrl: setting(
      storeUrlName,
      `${fileScheme}./data/punctual.db`,
      `where timers are kept, one of\n${formLines(stores)}`,
      (url) => parseUrl(stores, url),
      (url) => urlShown(stores, url),
    ),
    databasePath: setting(
      "TIMER_DB_PATH",
      "",
      `short for ${storeUrlName}=${fileScheme}<file>`,
      databasePath(stores),
    ),
    ...clusterSettings,
    brokerUrl: setting(
      brokerUrlName,
      "local:",
      `the message bus, one of\n${formLines(buses)}`,
      (url) => parseUrl(buses, url),
      (url) => urlShown(buses, url),
    ),
    ...brokerSettings,
    ...accessSettings,
    ...serviceSettings,
    ...doorSettings,
  }) as const

export type Settings = ReturnType<typeof settingsOf>

/** The file with the same names as the environment, one NAME=value per line. */
export const configFileName = "TIMER_CONFIG"

/** The store holds 1 MiB for a timer. The payload must fit into it together with its ids, target and headers. */
const storablePayloadBytes = 1_000_000

const numericLimit = (key: keyof Limits): Setting<number>["parse"] =>
  key === "payloadBytes"
    ? wholeNumber(1, storablePayloadBytes, ", because the store holds at most 1 MiB per timer")
    : wholeNumber(1, key.endsWith("Bytes") ? 256 * mebibyte : 1_000_000)

/** Limits of the contract: TIMER_LIMIT_ and the limit's name. Names of durations have no unit. */
export const limitSettings: ReadonlyArray<Setting<number> & { readonly key: keyof Limits }> = (
  Object.keys(defaultLimits) as Array<keyof Limits>
).map((key) => {
  const isDuration = key.endsWith("Ms")
  return {
    key,
    ...setting(
      limitSettingName(key),
      isDuration ? formatDuration(defaultLimits[key]) : String(defaultLimits[key]),
      "a limit of the contract",
      isDuration ? duration(1, 3653 * dayMs) : numericLimit(key),
    ),
  }
})

/** The URL of the service, for commands. The service itself ignores it, but it is a known name. */
export const urlName = "TIMER_URL"

/** The key that commands send, or a file that contains it. The service itself ignores both. */
export const apiKeyName = "TIMER_API_KEY"
export const apiKeyFileName = "TIMER_API_KEY_FILE"

/** Every name that may be set. */
export const settingNames: ReadonlyArray<string> = [
  configFileName,
  urlName,
  apiKeyName,
  apiKeyFileName,
  ...secretFileNames,
  ...Object.values(settingsOf({ stores: [], buses: [] })).map(({ name }) => name),
  ...limitSettings.map(({ name }) => name),
  ...telemetrySettings.map(({ name }) => name),
]
