// The settings of OpenTelemetry: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables. An
// empty value counts as not set. Nothing is exported unless an endpoint or an exporter is named. What is not supported
// is refused, because an operator who asks for it would wait for traces that never come.
import { type OtlpSignal, otlpSignals } from "./OtlpEncoding.ts"
import { type SamplerChoice, type SamplerName, samplerNames } from "./Sampler.ts"

export interface TelemetryChoice {
  readonly traces?: SignalChoice & { readonly sampler: SamplerChoice }
  readonly logs?: SignalChoice
  /** The attributes of the process that an operator has set. */
  readonly resource: Readonly<Record<string, string>>
}

export interface SignalChoice {
  readonly endpoint: OtlpEndpoint
  readonly protocol: OtlpProtocol
  readonly delayMs: number
  readonly exportTimeoutMs: number
  readonly queueRecords: number
  readonly batchRecords: number
}

export interface OtlpEndpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** How long one request may take. */
  readonly timeoutMs: number
  readonly isCompressed: boolean
}

export const otlpProtocols = ["http/json", "http/protobuf"] as const

export type OtlpProtocol = (typeof otlpProtocols)[number]

export interface TelemetryRead {
  /** Absent if nothing is exported. */
  readonly telemetry?: TelemetryChoice
  /** One sentence for each problem. */
  readonly problems: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
  /** The settings that an operator has set, without secrets. */
  readonly effective: Readonly<Record<string, string>>
}

export interface TelemetrySetting {
  readonly name: string
  readonly byDefault: string
  readonly meaning: string
}

const setting = (name: string, byDefault: string, meaning: string): TelemetrySetting => ({
  name: `OTEL_${name}`,
  byDefault,
  meaning,
})

/** `OTEL_EXPORTER_OTLP_…` has one value for all signals, and one for each signal. */
const forSignals = (part: string, byDefault: string, meaning: string): ReadonlyArray<TelemetrySetting> => [
  setting(`EXPORTER_OTLP_${part}`, byDefault, meaning),
  ...["TRACES", "LOGS"].map((signal) =>
    setting(`EXPORTER_OTLP_${signal}_${part}`, "", `the same for ${signal.toLowerCase()} only`),
  ),
]

/** Every setting, for the help. */
export const telemetrySettings: ReadonlyArray<TelemetrySetting> = [
  ...forSignals(
    "ENDPOINT",
    "",
    "the collector that gets traces and logs by OTLP over HTTP, such as http://127.0.0.1:4318;\n/v1/traces and /v1/logs are added; if it is not set, nothing is exported",
  ),
  ...forSignals(
    "HEADERS",
    "",
    "headers of each request, such as authorization=Bearer%20abc,x-team=a; the values are secrets",
  ),
  ...forSignals("PROTOCOL", "http/json", "http/json or http/protobuf"),
  ...forSignals("TIMEOUT", "10000", "how long one request may take, in milliseconds"),
  ...forSignals("COMPRESSION", "none", "none or gzip"),
  setting(
    "TRACES_EXPORTER",
    "otlp",
    "none exports no traces; otlp without an endpoint means http://localhost:4318",
  ),
  setting("LOGS_EXPORTER", "otlp", "the same for logs"),
  setting("SDK_DISABLED", "false", "true exports nothing"),
  setting("SERVICE_NAME", "punctual", "the name of the service in traces and logs"),
  setting(
    "RESOURCE_ATTRIBUTES",
    "",
    "more attributes of the process, such as deployment.environment.name=prod,team=a",
  ),
  setting("TRACES_SAMPLER", "parentbased_always_on", samplerNames.join(", ")),
  setting(
    "TRACES_SAMPLER_ARG",
    "1",
    "for traceidratio: the part of the traces that is recorded, from 0 to 1",
  ),
  setting("BSP_SCHEDULE_DELAY", "5000", "how long a span waits for others, in milliseconds"),
  setting("BSP_EXPORT_TIMEOUT", "30000", "how long a batch of spans is tried, in milliseconds"),
  setting("BSP_MAX_QUEUE_SIZE", "2048", "how many spans may wait; further spans are dropped"),
  setting("BSP_MAX_EXPORT_BATCH_SIZE", "512", "how many spans one request has at most"),
  setting("BLRP_SCHEDULE_DELAY", "1000", "the same for log lines"),
  setting("BLRP_EXPORT_TIMEOUT", "30000", "the same for log lines"),
  setting("BLRP_MAX_QUEUE_SIZE", "2048", "the same for log lines"),
  setting("BLRP_MAX_EXPORT_BATCH_SIZE", "512", "the same for log lines"),
]

/** The settings whose values are secrets. */
export const telemetrySecrets = [
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
] as const

const isSecret = (name: string): boolean => telemetrySecrets.some((secret) => secret === name)

const defaultEndpoint = "http://localhost:4318"
const hourMs = 3_600_000
const queueRecordsMost = 65_536
const headersMost = 32
const attributesMost = 64

export const readTelemetry = (texts: Readonly<Record<string, string | undefined>>): TelemetryRead => {
  const reader = new TelemetryReader(texts)
  const telemetry = reader.choice()
  const { problems, effective } = reader
  const warnings = unsupportedIn(texts)
  return problems.length > 0 || telemetry === undefined
    ? { problems, warnings, effective }
    : { telemetry, problems, warnings, effective }
}

/** Settings of the exporter that an operator may expect to work. */
const unsupportedIn = (texts: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> =>
  Object.keys(texts)
    .filter((name) => /^OTEL_EXPORTER_OTLP_(?!METRICS_)/.test(name) && texts[name] !== "")
    .filter((name) => !telemetrySettings.some((known) => known.name === name))
    .filter((name) => !telemetrySecrets.some((secret) => `${secret}_FILE` === name))
    .map((name) => `${name} is not supported and has no effect.`)

class TelemetryReader {
  readonly problems: Array<string> = []
  readonly effective: Record<string, string> = {}
  readonly #texts: Readonly<Record<string, string | undefined>>

  constructor(texts: Readonly<Record<string, string | undefined>>) {
    this.#texts = texts
    for (const { name } of telemetrySettings) {
      const text = this.#text(name)
      if (text !== undefined) this.effective[name] = isSecret(name) ? "…" : withoutCredentials(text)
    }
  }

  choice(): TelemetryChoice | undefined {
    const isDisabled = this.#oneOf("OTEL_SDK_DISABLED", ["true", "false"], "false") === "true"
    const resource = this.#pairs("OTEL_RESOURCE_ATTRIBUTES", attributesMost)
    const serviceName = this.#text("OTEL_SERVICE_NAME")
    if (serviceName !== undefined) resource["service.name"] = serviceName
    const sampler = this.#sampler()
    const [traces, logs] = otlpSignals.map((signal) => this.#signal(signal))
    if (isDisabled || (traces === undefined && logs === undefined)) return undefined
    return {
      ...(traces === undefined ? {} : { traces: { ...traces, sampler } }),
      ...(logs === undefined ? {} : { logs }),
      resource,
    }
  }

  #signal(signal: OtlpSignal): SignalChoice | undefined {
    const ofSignal = signal.toUpperCase()
    const exporterName = `OTEL_${ofSignal}_EXPORTER`
    const exporter = this.#oneOf(exporterName, ["otlp", "none"], "otlp")
    const timeoutMs = this.#number(this.#nameOf("TIMEOUT", ofSignal), 10_000, 1, hourMs)
    const compression = this.#oneOf(this.#nameOf("COMPRESSION", ofSignal), ["none", "gzip"], "none")
    const protocol = this.#oneOf(this.#nameOf("PROTOCOL", ofSignal), otlpProtocols, "http/json")
    const headers = this.#headers(this.#nameOf("HEADERS", ofSignal))
    const url = this.#url(signal, this.#text(exporterName) !== undefined)
    const processor = signal === "traces" ? "BSP" : "BLRP"
    const queueRecords = this.#number(`OTEL_${processor}_MAX_QUEUE_SIZE`, 2_048, 1, queueRecordsMost)
    const batchName = `OTEL_${processor}_MAX_EXPORT_BATCH_SIZE`
    const batchRecords = this.#number(batchName, Math.min(512, queueRecords), 1, queueRecordsMost)
    if (batchRecords > queueRecords) {
      this.problems.push(`${batchName} must not be greater than OTEL_${processor}_MAX_QUEUE_SIZE.`)
    }
    const delayMs = this.#number(
      `OTEL_${processor}_SCHEDULE_DELAY`,
      signal === "traces" ? 5_000 : 1_000,
      0,
      hourMs,
    )
    const exportTimeoutMs = this.#number(`OTEL_${processor}_EXPORT_TIMEOUT`, 30_000, 1, hourMs)
    if (url === undefined || exporter === "none") return undefined
    const endpoint = { url, headers, timeoutMs, isCompressed: compression === "gzip" }
    return { endpoint, protocol, delayMs, exportTimeoutMs, queueRecords, batchRecords }
  }

  /** `undefined` if nothing asks for an export. */
  #url(signal: OtlpSignal, isExporterNamed: boolean): string | undefined {
    const own = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`
    const all = "OTEL_EXPORTER_OTLP_ENDPOINT"
    const ofOwn = this.#text(own)
    if (ofOwn !== undefined) return this.#checkedUrl(own, ofOwn)?.href
    const base = this.#text(all) ?? (isExporterNamed ? defaultEndpoint : undefined)
    const url = base === undefined ? undefined : this.#checkedUrl(all, base)
    if (url === undefined) return undefined
    url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/${signal}`
    return url.href
  }

  #checkedUrl(name: string, text: string): URL | undefined {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
      this.#problem(name, "must be a URL that begins with http:// or https://", withoutCredentials(text))
      return undefined
    }
    if (url.username === "" && url.password === "") return url
    this.#problem(name, "must have no user and password: send them in OTEL_EXPORTER_OTLP_HEADERS")
    return undefined
  }

  #sampler(): SamplerChoice {
    const name: SamplerName = this.#oneOf("OTEL_TRACES_SAMPLER", samplerNames, "parentbased_always_on")
    const argument = "OTEL_TRACES_SAMPLER_ARG"
    const text = name.endsWith("traceidratio") ? this.#text(argument) : undefined
    const ratio = text === undefined ? 1 : /^\d*\.?\d+(?:e-?\d+)?$/i.test(text) ? Number(text) : Number.NaN
    if (!(ratio >= 0 && ratio <= 1))
      this.#problem(argument, "must be a number from 0 to 1, such as 0.01", text)
    return { name, ratio }
  }

  #headers(name: string): Record<string, string> {
    const headers = this.#pairs(name, headersMost)
    for (const [header, value] of Object.entries(headers)) {
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(header) || reservedHeaders.has(header.toLowerCase())) {
        this.#problem(name, `must not set the header ${JSON.stringify(header.slice(0, 100))}`)
      } else if (!/^[\t\x20-\x7e]*$/.test(value)) {
        this.#problem(name, `has a value for ${header} that a header cannot have`)
      }
    }
    return headers
  }

  /** `a=b,c=d`, with percent-encoded values. A message never shows the values. */
  #pairs(name: string, most: number): Record<string, string> {
    const pairs: Record<string, string> = {}
    const parts = (this.#text(name) ?? "").split(",").filter((part) => part.trim() !== "")
    if (parts.length > most) this.#problem(name, `must have at most ${most} entries`)
    for (const part of parts.slice(0, most)) {
      const at = part.indexOf("=")
      const key = part.slice(0, at).trim()
      const value = decoded(part.slice(at + 1).trim())
      if (at < 1 || key === "" || value === undefined) {
        this.#problem(
          name,
          "must be a list of name=value with commas between, and %2C for a comma in a value",
        )
        break
      }
      pairs[key] = value
    }
    return pairs
  }

  /** The name of the setting that is in force for a signal: its own, or that for all signals. */
  #nameOf(part: string, signal: string): string {
    const own = `OTEL_EXPORTER_OTLP_${signal}_${part}`
    return this.#text(own) === undefined ? `OTEL_EXPORTER_OTLP_${part}` : own
  }

  #oneOf<A extends string>(name: string, allowed: ReadonlyArray<A>, byDefault: A): A {
    const text = this.#text(name)
    if (text === undefined) return byDefault
    const found = allowed.find((value) => value === text.toLowerCase())
    if (found !== undefined) return found
    this.#problem(name, `must be ${allowed.join(" or ")}${hintFor(name)}`, text)
    return byDefault
  }

  #number(name: string, byDefault: number, min: number, max: number): number {
    const text = this.#text(name)
    if (text === undefined) return byDefault
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    this.#problem(name, `must be a whole number from ${min} to ${max}`, text)
    return byDefault
  }

  #text(name: string): string | undefined {
    const text = this.#texts[name]?.trim()
    return text === "" ? undefined : text
  }

  /** A setting for all signals is read once for each, but its problem is told once. */
  #problem(name: string, problem: string, shown?: string): void {
    const itIs =
      shown === undefined || isSecret(name) ? "." : `; it is ${JSON.stringify(shown.slice(0, 100))}.`
    const text = `${name} ${problem}${itIs}`
    if (!this.problems.includes(text)) this.problems.push(text)
  }
}

const hintFor = (name: string): string =>
  name.endsWith("_PROTOCOL") ? " (gRPC is not supported; collectors take OTLP over HTTP on port 4318)" : ""

/** Headers that the request itself sets. */
const reservedHeaders: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "host",
  "transfer-encoding",
])

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const withoutCredentials = (text: string): string => text.replace(/:\/\/.*@/s, "://…@")
