// What the settings say about the way in: who may reach the service, and its certificate.
import { resolve } from "node:path"
import type { AddressRanges } from "@punctual/door/AddressRanges"
import { type HostAndPort, isLoopbackHost } from "@punctual/door/hostAndPort"
import { readTlsPair, type TlsPairFiles } from "@punctual/door/TlsPair"
import type { DoorValues } from "./Configuration.ts"
import { doorSettings } from "./doorSettings.ts"
import { problemText } from "./problemText.ts"

export interface DoorChoice {
  readonly isOnLoopback: boolean
  readonly hosts: ReadonlyArray<HostAndPort>
  readonly corsOrigins: ReadonlyArray<string>
  readonly trustedProxies?: AddressRanges
  /** Absent if the service does not use TLS itself. */
  readonly tls?: TlsPairFiles
}

export const doorOf = (values: DoorValues): DoorChoice => {
  const { httpHost, nodeAddress, httpHosts, corsOrigins, trustedProxies } = values
  const tls = tlsFilesOf(values)
  return {
    isOnLoopback: isLoopbackHost(httpHost),
    // Other nodes use this name, also if a proxy on this machine passes their calls on.
    hosts: nodeAddress === undefined ? httpHosts : [...httpHosts, { name: nodeAddress.host.toLowerCase() }],
    corsOrigins,
    ...(trustedProxies === undefined ? {} : { trustedProxies }),
    ...(tls === undefined ? {} : { tls }),
  }
}

const tlsFilesOf = ({ tlsCertFile, tlsKeyFile }: DoorValues): TlsPairFiles | undefined =>
  tlsCertFile === undefined || tlsKeyFile === undefined
    ? undefined
    : { certFile: resolve(tlsCertFile), keyFile: resolve(tlsKeyFile) }

/** The files are read at the start, so that the error for a wrong file names the setting. */
export const tlsContradictions = (values: DoorValues): ReadonlyArray<string> => {
  const { tlsCertFile, tlsKeyFile } = doorSettings
  const files = tlsFilesOf(values)
  if (files === undefined) {
    const [set, missing] =
      values.tlsCertFile === undefined ? [tlsKeyFile, tlsCertFile] : [tlsCertFile, tlsKeyFile]
    return values.tlsCertFile === values.tlsKeyFile
      ? []
      : [`${missing.name} is missing: ${set.name} needs it. Set both, or neither.`]
  }
  const pair = readTlsPair(files)
  if (!("problem" in pair)) return []
  const { name } = pair.file === "cert" ? tlsCertFile : tlsKeyFile
  return [problemText(name, pair, pair.file === "cert" ? files.certFile : files.keyFile)]
}
