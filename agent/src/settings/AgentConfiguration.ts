// The settings of one run of the agent. All are checked before anything starts. A misspelt name would silently leave its
// default in force, so a name that is close to a known one is refused. Other unknown names only cause a warning.
import { readFileSync } from "node:fs"
import { nearName } from "@punctual/api/nearName"
import type { AddressRanges } from "@punctual/door/AddressRanges"
import type { AuthMode } from "@punctual/door/Gate"
import { type HostAndPort, isLoopbackHost } from "@punctual/door/hostAndPort"
import { readTlsPair, type TlsPairFiles } from "@punctual/door/TlsPair"
import type { EgressRules } from "@punctual/egress/Egress"
import type { AgentSetting } from "./AgentSetting.ts"
import {
  type AgentStoreChoice,
  agentSecretNames,
  agentSettingNames,
  agentSettings,
  openAgentSettings,
} from "./agentSettings.ts"

export interface AgentConfiguration {
  readonly httpHost: string
  readonly httpPort: number
  readonly store: AgentStoreChoice
  readonly callTimeoutMs: number
  readonly retentionMs: number
  readonly openCallsMax: number
  readonly auth: AuthMode
  readonly metricsAccess: "keys" | "open"
  readonly egress: EgressRules
  readonly secretKey?: Uint8Array
  /** Which requests may come in. */
  readonly guard: {
    readonly isOnLoopback: boolean
    readonly hosts: ReadonlyArray<HostAndPort>
    readonly corsOrigins: ReadonlyArray<string>
    readonly trustedProxies?: AddressRanges
  }
  /** Absent if the agent does not use TLS itself. */
  readonly tls?: TlsPairFiles
}

export type AgentConfigurationRead =
  | {
      readonly configuration: AgentConfiguration
      readonly warnings: ReadonlyArray<string>
      /** Every setting in force, for the log. */
      readonly effective: Readonly<Record<string, string>>
    }
  /** One sentence for each problem. */
  | { readonly problems: ReadonlyArray<string> }

/** `given`: the texts of all settings, from the environment and perhaps a file. Other names are skipped. */
export const readAgentConfiguration = (
  given: Readonly<Record<string, string | undefined>>,
): AgentConfigurationRead => {
  const reader = new SettingsReader(given)
  const warnings = reader.judgeNames()
  const httpHost = reader.value(agentSettings.httpHost)
  const isOnLoopback = httpHost !== undefined && isLoopbackHost(httpHost)
  const values = {
    httpHost,
    httpPort: reader.value(agentSettings.httpPort),
    store: reader.value(agentSettings.store),
    callTimeoutMs: reader.value(agentSettings.callTimeoutMs),
    retentionMs: reader.value(agentSettings.retentionMs),
    openCallsMax: reader.value(agentSettings.openCallsMax),
    auth: reader.value(agentSettings.auth),
    metricsAccess: reader.value(agentSettings.metricsAccess),
    egress: reader.value(openAgentSettings.egress, isOnLoopback ? "open" : "public"),
  }
  const hosts = reader.value(agentSettings.httpHosts)
  const corsOrigins = reader.value(agentSettings.corsOrigins)
  const secretKey = reader.optional(openAgentSettings.secretKey)
  const trustedProxies = reader.optional(openAgentSettings.trustedProxies)
  const tls = tlsOf(reader)
  if (reader.problems.length > 0) return { problems: reader.problems }
  return {
    configuration: {
      // None of them has a problem, so each has a value.
      ...(values as Required<{ [key in keyof typeof values]: NonNullable<(typeof values)[key]> }>),
      ...(secretKey === undefined ? {} : { secretKey }),
      guard: {
        isOnLoopback,
        hosts: hosts ?? [],
        corsOrigins: corsOrigins ?? [],
        ...(trustedProxies === undefined ? {} : { trustedProxies }),
      },
      ...(tls === undefined ? {} : { tls }),
    },
    warnings,
    effective: reader.effective,
  }
}

class SettingsReader {
  readonly problems: Array<string> = []
  readonly effective: Record<string, string> = {}
  readonly #texts: Record<string, string> = {}
  /** The files, by the setting whose value they contain. */
  readonly #files = new Map<string, string>()

  constructor(given: Readonly<Record<string, string | undefined>>) {
    for (const [name, text] of Object.entries(given)) {
      if (text !== undefined && /^agent_/i.test(name)) this.#texts[name] = text
    }
    for (const name of agentSecretNames) this.#readSecretFile(name)
  }

  judgeNames(): ReadonlyArray<string> {
    const warnings: Array<string> = []
    for (const name of Object.keys(this.#texts)) {
      if (agentSettingNames.includes(name)) continue
      const meant = nearName(name, agentSettingNames)
      if (meant === undefined) warnings.push(`${name} is not a setting of the agent and has no effect.`)
      else this.problems.push(`${name} is not a setting: did you mean ${meant}?`)
    }
    return warnings
  }

  value<A>(setting: AgentSetting<A>, byDefault = setting.byDefault): A | undefined {
    const { name, read, shown } = setting
    const text = this.#texts[name] ?? byDefault
    const result = read(text)
    if ("value" in result) {
      this.effective[name] = shown(text)
      return result.value
    }
    this.problems.push(this.#problemText(setting, result.problem, result.isWhole === true, text))
    return undefined
  }

  optional<A>(setting: AgentSetting<A>): A | undefined {
    return this.#texts[setting.name] === undefined ? undefined : this.value(setting)
  }

  #problemText({ name, shown }: AgentSetting<unknown>, problem: string, isWhole: boolean, text: string) {
    const file = this.#files.get(name)
    // Such a file may contain a secret, also if it is the wrong file.
    if (file !== undefined) return `${name}_FILE: the content of ${file} ${problem}.`
    if (isWhole) return `${name}: ${problem}`
    const said = shown(text)
    return `${name} ${problem}${said === "…" ? "." : `; it is ${JSON.stringify(said.slice(0, shownChars))}.`}`
  }

  #readSecretFile(name: string): void {
    const path = this.#texts[`${name}_FILE`]
    if (path === undefined) return
    if (this.#texts[name] !== undefined) {
      this.problems.push(`${name} and ${name}_FILE mean the same: set only one of them.`)
      return
    }
    try {
      this.#texts[name] = readFileSync(path, "utf8").trim()
      this.#files.set(name, path)
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable"
      this.problems.push(`${name}_FILE names a file that cannot be read (${code}): ${path}`)
    }
  }
}

const shownChars = 100

/** The files are read at the start, so that the error for a wrong file names the setting. */
const tlsOf = (reader: SettingsReader): TlsPairFiles | undefined => {
  const { tlsCertFile, tlsKeyFile } = openAgentSettings
  const certFile = reader.optional(tlsCertFile)
  const keyFile = reader.optional(tlsKeyFile)
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined) {
    const [set, missing] = certFile === undefined ? [tlsKeyFile, tlsCertFile] : [tlsCertFile, tlsKeyFile]
    reader.problems.push(`${missing.name} is missing: ${set.name} needs it. Set both, or neither.`)
    return undefined
  }
  const pair = readTlsPair({ certFile, keyFile })
  if ("problem" in pair) {
    const { name } = pair.file === "cert" ? tlsCertFile : tlsKeyFile
    reader.problems.push(`${name} ${pair.problem}.`)
    return undefined
  }
  return { certFile, keyFile }
}
