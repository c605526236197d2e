// The settings about who may reach the service over HTTP: its hosts, origins, proxies and certificates.
import { domainToASCII } from "node:url"
import { AddressRanges, parseSubnet } from "@punctual/door/AddressRanges"
import { type HostAndPort, hostAndPort } from "@punctual/door/hostAndPort"
import { readCertificate } from "@punctual/door/pemFiles"
import type { Parsed } from "../ports/Adapter.ts"
import { pemFile, setting } from "./Setting.ts"

const entriesMost = 100

/** A list with commas. An empty text is an empty list. */
const listOf =
  <A>(what: string, parseEntry: (entry: string) => A | undefined) =>
  (text: string): Parsed<ReadonlyArray<A>> => {
    const entries = text === "" ? [] : text.split(",").map((entry) => entry.trim())
    const values = entries.flatMap((entry) => parseEntry(entry) ?? [])
    return values.length === entries.length && values.length <= entriesMost
      ? { value: values }
      : { problem: `must be at most ${entriesMost} ${what}` }
  }

/** A name may be written with letters of any language. Browsers send its ASCII form. */
const ownHost = (entry: string): HostAndPort | undefined =>
  hostAndPort(/[^\x20-\x7e]/.test(entry) ? domainToASCII(entry) : entry)

/** An origin as browsers send it: in lower case, and without the usual port of its scheme. */
const origin = (entry: string): string | undefined => {
  if (!/^https?:\/\/[^/?#@]+$/i.test(entry) || !URL.canParse(entry)) return undefined
  return new URL(entry).origin
}

const addressRanges = (text: string): Parsed<AddressRanges> => {
  const ranges = new AddressRanges()
  const entries = text.split(",").map((entry) => entry.trim())
  if (entries.length > entriesMost) return { problem: `must be at most ${entriesMost} addresses and ranges` }
  for (const entry of entries) {
    const read = parseSubnet(entry)
    if ("problem" in read) return { problem: `${JSON.stringify(entry)} ${read.problem}`, isWhole: true }
    ranges.add(read.subnet)
  }
  return { value: ranges }
}

const fileName = (file: string): Parsed<string> =>
  file === "" ? { problem: "must name a file" } : { value: file }

export const doorSettings = {
  httpHosts: setting(
    "TIMER_HTTP_HOSTS",
    "",
    "further host names of the service, such as timers.example.com or timers.local:8080, for a proxy that\npasses them on or changes them; on a loopback address other names are refused",
    listOf("host names separated by commas, such as timers.example.com or timers.local:8080", ownHost),
  ),
  corsOrigins: setting(
    "TIMER_CORS_ORIGINS",
    "",
    "the origins whose pages may call the service from browsers, such as https://tools.example.com",
    listOf("origins separated by commas, such as https://tools.example.com", origin),
  ),
  trustedProxies: setting(
    "TIMER_TRUSTED_PROXIES",
    "",
    "the addresses and ranges of proxies whose X-Forwarded-For, -Host and -Proto count, such as 10.0.0.0/8",
    addressRanges,
  ),
  tlsCertFile: setting(
    "TIMER_TLS_CERT_FILE",
    "",
    "serve https: the PEM file with the certificate and its chain; it is read again when it changes",
    fileName,
  ),
  tlsKeyFile: setting(
    "TIMER_TLS_KEY_FILE",
    "",
    "the PEM file with the private key of the certificate, without a passphrase",
    fileName,
  ),
  tlsCaFile: setting(
    "TIMER_TLS_CA_FILE",
    "",
    "the PEM file of the authority that signed the certificates of nodes, for calls of other nodes and of\ncommands; default: the system's authorities",
    pemFile(readCertificate),
  ),
} as const
