// All settings of the agent. Their names begin with AGENT_. The Timer and the message broker have settings of their own,
// which begin with TIMER_.
import { resolve } from "node:path"
import { domainToASCII } from "node:url"
import { AddressRanges, parseSubnet } from "@punctual/door/AddressRanges"
import { type HostAndPort, hostAndPort } from "@punctual/door/hostAndPort"
import { type EgressRules, parseEgress } from "@punctual/egress/Egress"
import { parsePostgresUrl, postgresForm, postgresSchemes, postgresUrlShown } from "@punctual/sql/postgresUrl"
import { Result } from "effect"
import {
  agentSetting,
  type ReadText,
  readDuration,
  readList,
  readOneOf,
  readPath,
  readWholeNumber,
} from "./AgentSetting.ts"

/** Where calls are kept. */
export type AgentStoreChoice =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string }

const sqliteScheme = "sqlite:"

const readStore = (text: string): ReadText<AgentStoreChoice> => {
  if (text.startsWith(sqliteScheme)) {
    const file = text.slice(sqliteScheme.length)
    return file.trim() === "" || file.startsWith("//")
      ? { problem: "must name a file, such as sqlite:./data/agent.db" }
      : { value: { kind: "sqlite", file: resolve(file) } }
  }
  if (!postgresSchemes.some((scheme) => text.startsWith(scheme))) {
    return { problem: `must be sqlite:<file> or ${postgresForm}` }
  }
  const url = parsePostgresUrl(text)
  return "problem" in url ? url : { value: { kind: "postgres", url: url.value } }
}

const storeShown = (text: string): string => (text.startsWith(sqliteScheme) ? text : postgresUrlShown(text))

const readEgress = (text: string): ReadText<EgressRules> => {
  const rules = parseEgress(text)
  return Result.isSuccess(rules)
    ? { value: rules.success }
    : { problem: rules.failure.message, isWhole: true }
}

const secretKeyBytes = 32

const readSecretKey = (text: string): ReadText<Uint8Array> => {
  const isHex = /^[0-9a-f]{64}$/i.test(text)
  const bytes = Buffer.from(text, isHex ? "hex" : "base64")
  return bytes.byteLength === secretKeyBytes && (isHex || /^[A-Za-z0-9+/_-]{43}=?$/.test(text))
    ? { value: new Uint8Array(bytes) }
    : { problem: "must be 32 bytes in hex or base64; create one with openssl rand -hex 32" }
}

/** A name may be written with letters of any language. Browsers send its ASCII form. */
const ownHost = (entry: string): HostAndPort | undefined =>
  hostAndPort(/[^\x20-\x7e]/.test(entry) ? domainToASCII(entry) : entry)

/** An origin as browsers send it: in lower case, and without the usual port of its scheme. */
const origin = (entry: string): string | undefined =>
  /^https?:\/\/[^/?#@]+$/i.test(entry) && URL.canParse(entry) ? new URL(entry).origin : undefined

const readRanges = (text: string): ReadText<AddressRanges> => {
  const ranges = new AddressRanges()
  const entries = text.split(",").map((entry) => entry.trim())
  if (entries.length > rangesMax) return { problem: `must be at most ${rangesMax} addresses and ranges` }
  for (const entry of entries) {
    const read = parseSubnet(entry)
    if ("problem" in read) return { problem: `${JSON.stringify(entry)} ${read.problem}`, isWhole: true }
    ranges.add(read.subnet)
  }
  return { value: ranges }
}

const rangesMax = 100

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const hidden = () => "…"

export const agentSettings = {
  httpHost: agentSetting("AGENT_HTTP_HOST", "127.0.0.1", "the address to listen on", (text) =>
    text.trim() === "" ? { problem: "must be an address or a host name" } : { value: text.trim() },
  ),
  httpPort: agentSetting(
    "AGENT_HTTP_PORT",
    "8090",
    "the port to listen on; 0 picks a free one",
    readWholeNumber(0, 65_535),
  ),
  store: agentSetting(
    "AGENT_STORE_URL",
    "sqlite:./data/agent.db",
    "where calls are kept: sqlite:<file>, or postgres://user:password@host:port/database;\nnever the file of the Timer",
    readStore,
    storeShown,
  ),
  callTimeoutMs: agentSetting(
    "AGENT_CALL_TIMEOUT",
    "60s",
    "how long a called service may take to answer",
    readDuration(1_000, 300_000, "30s"),
  ),
  retentionMs: agentSetting(
    "AGENT_RETENTION",
    "30d",
    "how long finished calls are kept",
    readDuration(hourMs, 3653 * dayMs, "30d"),
  ),
  openCallsMax: agentSetting(
    "AGENT_MAX_OPEN_PER_TENANT",
    "100000",
    "how many calls of a tenant may be open, which means not ended; more are refused with 429",
    readWholeNumber(1, 10_000_000),
  ),
  auth: agentSetting(
    "AGENT_AUTH",
    "auto",
    "whether calls need a key. auto: as soon as the store of the Timer has had a key; required: always;\noff: never, for example behind a proxy that checks callers",
    readOneOf("auto", "required", "off"),
  ),
  metricsAccess: agentSetting(
    "AGENT_METRICS",
    "keys",
    "open: /metrics needs no key, even if calls do",
    readOneOf("keys", "open"),
  ),
  httpHosts: agentSetting(
    "AGENT_HTTP_HOSTS",
    "",
    "further host names of the agent, for a proxy that passes them on or changes them",
    readList("host names separated by commas, such as agent.example.com or agent.local:8090", ownHost),
  ),
  corsOrigins: agentSetting(
    "AGENT_CORS_ORIGINS",
    "",
    "the origins whose pages may call the agent from browsers, such as https://tools.example.com",
    readList("origins separated by commas, such as https://tools.example.com", origin),
  ),
} as const

/** Settings that may stay unset, because their defaults cannot be written as text. */
export const openAgentSettings = {
  egress: agentSetting(
    "AGENT_EGRESS",
    "",
    "what calls may reach: open, or a list of public, private, loopback, ranges, addresses and names;\ndefault: open if the agent listens on loopback, else public",
    readEgress,
  ),
  secretKey: agentSetting(
    "AGENT_SECRET_KEY",
    "",
    "the key that encrypts stored requests: 32 bytes in hex or base64; if it is not set, an agent on SQLite\nmakes one in a file beside its store",
    readSecretKey,
    hidden,
  ),
  trustedProxies: agentSetting(
    "AGENT_TRUSTED_PROXIES",
    "",
    "the addresses and ranges of proxies whose X-Forwarded-For, -Host and -Proto count, such as 10.0.0.0/8",
    readRanges,
  ),
  tlsCertFile: agentSetting(
    "AGENT_TLS_CERT_FILE",
    "",
    "serve https: the PEM file with the certificate and its chain; it is read again when it changes",
    readPath,
  ),
  tlsKeyFile: agentSetting(
    "AGENT_TLS_KEY_FILE",
    "",
    "the PEM file with the private key of the certificate, without a passphrase",
    readPath,
  ),
} as const

/** Settings whose value may also be in a file, which the name with `_FILE` at its end names. */
export const agentSecretNames: ReadonlyArray<string> = [
  agentSettings.store.name,
  openAgentSettings.secretKey.name,
]

/** Every name that may be set. */
export const agentSettingNames: ReadonlyArray<string> = [
  ...Object.values(agentSettings).map(({ name }) => name),
  ...Object.values(openAgentSettings).map(({ name }) => name),
  ...agentSecretNames.map((name) => `${name}_FILE`),
]
