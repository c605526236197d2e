// The settings of one run. They are read from the environment and from the file that TIMER_CONFIG names, and are all
// checked before anything starts. The environment overrides the file. A misspelt name would silently leave its default
// in force, so a name that is close to a known one is refused. Other unknown names only cause a warning, because
// orchestrators inject some.
import { readFileSync } from "node:fs"
import { defaultLimits, type Limits } from "@punctual/api/Limits"
import { isLoopbackHost } from "@punctual/door/hostAndPort"
import type { EgressRules } from "@punctual/egress/Egress"
import { readTelemetry, type TelemetryChoice } from "@punctual/telemetry/telemetrySettings"
import type { Parsed } from "../ports/Adapter.ts"
import type { BusChoice, BusTerms } from "../ports/BusAdapter.ts"
import type { StoreAdapter, StoreChoice } from "../ports/StoreAdapter.ts"
import { type BrokerValues, brokerContradictions, brokerTermsOf } from "./brokerTerms.ts"
import { clusterContradictions, clusterWarnings } from "./clusterContradictions.ts"
import { beyondRuntime, type DeliverySlots, deliverySlotsOf } from "./deliverySlotsOf.ts"
import { type DoorChoice, doorOf, tlsContradictions } from "./doorOf.ts"
import type { NodeAddress } from "./NodeIdentity.ts"
import { nearestName } from "./nearestName.ts"
import { problemText } from "./problemText.ts"
import { leavingRequests } from "./runtimeRequests.ts"
import type { Setting } from "./Setting.ts"
import {
  type Adapters,
  configFileName,
  limitSettings,
  type Settings,
  settingNames,
  settingsOf,
} from "./Settings.ts"
import { type SecretFiles, type SecretSetting, withSecretFiles } from "./secretFiles.ts"
import { shardCount, shardsText } from "./shardCount.ts"

type Parsings = {
  readonly [key in keyof Settings]: Settings[key]["parse"] extends (text: string) => Parsed<infer A>
    ? A
    : never
}

/** Settings that may stay unset, because their defaults cannot be written as text. */
const open = [
  "brokerCaFile",
  "brokerCertFile",
  "brokerKeyFile",
  "nodeAddress",
  "clusterSecret",
  "secretKeys",
  "nodeName",
  "adminKeyFile",
  "trustedProxies",
  "tlsCertFile",
  "tlsKeyFile",
  "tlsCaFile",
] as const

type Open = (typeof open)[number]

type Values = Omit<Parsings, Open> & { readonly [key in Open]?: Parsings[key] | undefined }

export type DoorValues = Pick<
  Values,
  "httpHost" | "nodeAddress" | "httpHosts" | "corsOrigins" | "trustedProxies" | "tlsCertFile" | "tlsKeyFile"
>

export type ClusterValues = Pick<Values, "storeUrl" | "nodeAddress" | "clusterSecret" | "httpHost" | "clock">

export interface Configuration
  extends Omit<
    Values,
    | "storeUrl"
    | "databasePath"
    | "nodeAddress"
    | "clusterSecret"
    | "maxInFlight"
    | "slowSharePercent"
    | keyof BrokerValues
    | Exclude<keyof DoorValues, "httpHost">
  > {
  readonly store: StoreChoice
  /** Only present if several nodes can share the store. */
  readonly cluster?: ClusterChoice
  readonly broker: BusChoice
  readonly brokerTerms: BusTerms
  readonly limits: Limits
  readonly slots: DeliverySlots
  readonly door: DoorChoice
  /** Where traces and logs go; absent if they are not exported. */
  readonly telemetry?: TelemetryChoice
}

export interface ClusterChoice {
  /** The address at which other nodes reach this one. */
  readonly address: NodeAddress
  /** The secret by which nodes recognise each other. */
  readonly secret: string
}

export type Environment = Readonly<Record<string, string | undefined>>

export type ConfigurationRead =
  | {
      readonly configuration: Configuration
      readonly warnings: ReadonlyArray<string>
      /** Every setting in force, and the limits that were set, for the log. */
      readonly effective: Readonly<Record<string, string>>
      /** The names of those that an operator set. The others have their defaults. */
      readonly given: ReadonlySet<string>
    }
  /** One sentence for each problem. */
  | { readonly problems: ReadonlyArray<string> }

export const readConfiguration = (environment: Environment, adapters: Adapters): ConfigurationRead => {
  const table = settingsOf(adapters)
  const problems: Array<string> = []
  const { texts, files } = settingTexts(environment, problems)
  const warnings = judgeNames(texts, problems)
  const effective: Record<string, string> = {}

  const valueIn = <A>(
    { name, parse, shown }: Pick<Setting<A>, "name" | "parse" | "shown">,
    byDefault: string,
  ): A | undefined => {
    const text = texts[name] ?? byDefault
    const parsed = parse(text)
    if ("problem" in parsed) {
      problems.push(problemText(name, parsed, shown(text), files.get(name)))
      return undefined
    }
    effective[name] = shown(text)
    return parsed.value
  }

  const values: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(table)) {
    if (key === "databasePath" || key === "egress" || key === "shards" || isOpen(key)) continue
    values[key] = valueIn<unknown>(setting, setting.byDefault)
  }
  values["egress"] = valueIn(table.egress, egressDefault(String(values["httpHost"])))
  const byPath = texts[table.databasePath.name]
  if (byPath !== undefined) {
    if (texts[table.storeUrl.name] !== undefined) {
      const other = files.get(table.storeUrl.name)?.setting ?? table.storeUrl.name
      problems.push(`${other} and ${table.databasePath.name} mean the same: set only one of them.`)
    }
    delete effective[table.storeUrl.name]
    values["storeUrl"] = valueIn(table.databasePath, byPath)
  }
  const storeAdapter = (values["storeUrl"] as StoreChoice | undefined)?.adapter
  const countedShards = {
    ...table.shards,
    parse: (text: string) => shardCount(text, storeAdapter, table.shards),
  }
  values["shards"] = valueIn(countedShards, shardsText(undefined, storeAdapter, table.shards))
  for (const key of open) {
    const text = texts[table[key].name]
    if (text !== undefined) values[key] = valueIn<unknown>(table[key], text)
  }
  const limits = { ...defaultLimits }
  for (const setting of limitSettings) {
    if (texts[setting.name] !== undefined) limits[setting.key] = valueIn(setting, setting.byDefault) ?? 1
  }
  const { telemetry, ...toldOfTelemetry } = readTelemetry(texts)
  problems.push(...toldOfTelemetry.problems)
  Object.assign(effective, toldOfTelemetry.effective)
  if (problems.length === 0) {
    problems.push(...contradictionsOf(limits))
    problems.push(...brokerContradictions(values as Values, adapters))
    problems.push(...clusterContradictions(values as ClusterValues, adapters))
    problems.push(...beyondRuntime(values as Values, environment))
    problems.push(...tlsContradictions(values as DoorValues))
  }
  if (problems.length > 0) return { problems }

  // Every key of the table has been read by its own parser, and none has failed.
  const { storeUrl, databasePath: _, nodeAddress, clusterSecret, ...others } = values as Values
  const { brokerUrl, brokerCaFile, brokerCertFile, brokerKeyFile, ...moreOthers } = others
  const {
    brokerReplicas,
    brokerSync,
    brokerStream,
    brokerPrefix,
    brokerSubjects,
    brokerQueues,
    brokerTopic,
    brokerPartitions,
    ...evenMore
  } = moreOthers
  const { maxInFlight, slowSharePercent, httpHosts: _hosts, corsOrigins: _origins, ...beside } = evenMore
  const { trustedProxies: _proxies, tlsCertFile: _cert, tlsKeyFile: _key, ...rest } = beside
  const ofStream = { brokerReplicas, brokerSync, brokerStream, brokerPrefix, brokerSubjects, brokerQueues }
  const ofTopic = { brokerTopic, brokerPartitions }
  const brokerTerms = brokerTermsOf({ brokerCaFile, brokerCertFile, brokerKeyFile, ...ofStream, ...ofTopic })
  const cluster =
    storeUrl.adapter.isShared && clusterSecret !== undefined
      ? { cluster: { address: nodeAddress ?? { host: rest.httpHost }, secret: clusterSecret } }
      : {}
  const requests = telemetry === undefined ? environment : leavingRequests(environment, requestsOfTelemetry)
  const slots = deliverySlotsOf({ maxInFlight, slowSharePercent }, requests)
  return {
    configuration: {
      ...rest,
      store: storeUrl,
      ...cluster,
      broker: brokerUrl,
      brokerTerms,
      limits,
      slots: slots.slots,
      door: doorOf(values as DoorValues),
      ...(telemetry === undefined ? {} : { telemetry }),
    },
    warnings: [
      ...warnings,
      ...toldOfTelemetry.warnings,
      ...clusterWarnings(values as ClusterValues),
      ...slots.warnings,
    ],
    effective,
    given: new Set(Object.keys(effective).filter((name) => texts[name] !== undefined)),
  }
}

/** Traces and logs have a request each. A collector that does not answer must not take them from webhooks. */
const requestsOfTelemetry = 2

/** What webhooks of the service may reach, and how it looks up their hosts. A mistake here stops no command. */
export type EgressSetting =
  | { readonly problem: string }
  | {
      readonly rules: EgressRules
      /** The rules as an operator writes them. */
      readonly text: string
      /** Whether the settings contain them, or they are the default. */
      readonly isSet: boolean
      readonly dnsServers: ReadonlyArray<string>
      readonly lookupTimeoutMs?: number
    }

export interface StoreReading {
  /** The URL of the flag. It overrides the settings. */
  readonly byFlag?: string | undefined
  /** Whether the command uses the keys of webhook secrets. Otherwise their file is not read. */
  readonly usesKeys?: boolean
}

/** Only the store, for commands that use it without a service. */
export const readStore = (
  environment: Environment,
  stores: ReadonlyArray<StoreAdapter>,
  { byFlag, usesKeys = false }: StoreReading = {},
):
  | {
      readonly store: StoreChoice
      readonly shards: number
      /** What opens webhook secrets; none if nothing usable is set, because no command needs them. */
      readonly secretKeys: ReadonlyArray<Uint8Array>
      readonly egress: EgressSetting
    }
  | { readonly problems: ReadonlyArray<string> } => {
  const problems: Array<string> = []
  const { texts, files } = settingTexts(environment, problems, [
    ...(byFlag === undefined ? (["TIMER_STORE_URL"] as const) : []),
    ...(usesKeys ? (["TIMER_SECRET_KEY"] as const) : []),
  ])
  const table = settingsOf({ stores, buses: [] })
  const { storeUrl, databasePath, shards, secretKeys } = table
  const byPath = byFlag === undefined ? texts[databasePath.name] : undefined
  const [named, text] =
    byPath === undefined
      ? [storeUrl, byFlag ?? texts[storeUrl.name] ?? storeUrl.byDefault]
      : [databasePath, byPath]
  const store = named.parse(text)
  const adapter = "value" in store ? store.value.adapter : undefined
  const count = shardCount(shardsText(texts[shards.name], adapter, shards), adapter, shards)
  const [name, file] = byFlag === undefined ? [named.name, files.get(named.name)] : ["--store", undefined]
  if ("problem" in store) problems.push(problemText(name, store, named.shown(text), file))
  if ("problem" in count) problems.push(`${shards.name} ${count.problem}.`)
  if (problems.length > 0 || "problem" in store || "problem" in count) return { problems }
  const keys = secretKeys.parse(texts[secretKeys.name] ?? "")
  return {
    store: store.value,
    shards: count.value,
    secretKeys: "value" in keys ? keys.value : [],
    egress: egressOf(texts, table),
  }
}

const egressOf = (
  texts: Readonly<Record<string, string>>,
  { egress, httpHost, dnsServers, lookupTimeoutMs }: Settings,
): EgressSetting => {
  const given = texts[egress.name]
  const text = given ?? egressDefault(texts[httpHost.name] ?? httpHost.byDefault)
  const rules = egress.parse(text)
  if ("problem" in rules) return { problem: problemText(egress.name, rules, egress.shown(text)) }
  const servers = dnsServers.parse(texts[dnsServers.name] ?? "")
  if ("problem" in servers)
    return { problem: problemText(dnsServers.name, servers, texts[dnsServers.name] ?? "") }
  const timeout = lookupTimeoutMs.parse(texts[lookupTimeoutMs.name] ?? lookupTimeoutMs.byDefault)
  return {
    rules: rules.value,
    text,
    isSet: given !== undefined,
    dnsServers: servers.value,
    ...("value" in timeout ? { lookupTimeoutMs: timeout.value } : {}),
  }
}

const isOpen = (key: string): key is Open => (open as ReadonlyArray<string>).includes(key)

/** Lines of NAME=value. Blank lines and lines that begin with # are skipped. */
export const parseConfigFile = (
  text: string,
  fileName: string,
  problems: Array<string>,
): Record<string, string> => {
  const found: Record<string, string> = {}
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim()
    if (trimmed === "" || trimmed.startsWith("#")) continue
    const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(trimmed) ?? []
    const where = `${fileName}, line ${index + 1}`
    if (name === undefined || value === undefined) problems.push(`${where} must read NAME=value.`)
    else if (name === configFileName)
      problems.push(`${where}: ${configFileName} cannot be set in the file itself.`)
    else if (Object.hasOwn(found, name))
      problems.push(`${where} sets ${name} a second time: keep only one of them.`)
    else found[name] = value.replace(/^"(.*)"$/, "$1")
  }
  return found
}

const readConfigFile = (fileName: string | undefined, problems: Array<string>): Record<string, string> => {
  if (fileName === undefined) return {}
  try {
    return parseConfigFile(readFileSync(fileName, "utf8"), fileName, problems)
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable"
    problems.push(`${configFileName} names a file that cannot be read (${code}): ${fileName}`)
    return {}
  }
}

/** The texts of all settings. The environment overrides the file. */
export const settingTexts = (
  environment: Environment,
  problems: Array<string>,
  secrets?: ReadonlyArray<SecretSetting>,
): SecretFiles =>
  withSecretFiles(
    { ...readConfigFile(environment[configFileName], problems), ...definedOf(environment) },
    problems,
    secrets,
  )

const definedOf = (environment: Environment): Record<string, string> => {
  const defined: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) defined[name] = value
  return defined
}

const judgeNames = (
  texts: Readonly<Record<string, string>>,
  problems: Array<string>,
): ReadonlyArray<string> => {
  const warnings: Array<string> = []
  for (const name of Object.keys(texts)) {
    if (!/^(?:timer|otel)_/i.test(name) || settingNames.includes(name)) continue
    const meant = nearestName(name)
    // Settings of OpenTelemetry are often set for all programs of a machine, so others are no surprise.
    if (meant === undefined && /^otel_/i.test(name)) continue
    if (meant === undefined) warnings.push(`${name} is not a setting of Punctual and has no effect.`)
    else problems.push(`${name} is not a setting: did you mean ${meant}?`)
  }
  return warnings
}

const contradictionsOf = (limits: Limits): ReadonlyArray<string> => {
  const ascending: ReadonlyArray<readonly [keyof Limits, keyof Limits]> = [
    ["listPageDefault", "listPage"],
    ["timeoutMinMs", "timeoutDefaultMs"],
    ["timeoutDefaultMs", "timeoutMaxMs"],
    ["payloadBytes", "bodyBytes"],
    ["bodyBytes", "createManyBodyBytes"],
  ]
  const nameOf = (key: keyof Limits) => limitSettings.find((setting) => setting.key === key)?.name ?? key
  return ascending
    .filter(([lower, upper]) => limits[lower] > limits[upper])
    .map(([lower, upper]) => `${nameOf(lower)} must not be greater than ${nameOf(upper)}.`)
}

/** The default for what callbacks may reach depends on who can reach the service. */
const egressDefault = (httpHost: string): "open" | "public" => (isLoopbackHost(httpHost) ? "open" : "public")
