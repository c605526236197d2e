// PEM files that a setting names: certificates and private keys. The settings and the adapters read them at the start,
// so that the error for a wrong file names its setting, instead of a failed handshake later.
import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"

/** The text, or a problem that continues a sentence about the setting: "must name a file". */
export type ReadPem = { readonly value: string } | { readonly problem: string }

/** The text of a file with at least one certificate. */
export const readCertificate = (file: string): ReadPem =>
  readPem(file, "-----BEGIN CERTIFICATE-----", (text) => new X509Certificate(text))

/** The text of a file with a private key that needs no passphrase. */
export const readPrivateKey = (file: string): ReadPem =>
  readPem(file, "a private key without a passphrase", (text) => createPrivateKey(text))

/** Whether the key belongs to the certificate. Both are texts of files that were read. */
export const isPair = (certificate: string, key: string): boolean =>
  new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))

const readPem = (file: string, content: string, parse: (text: string) => unknown): ReadPem => {
  if (file === "") return { problem: "must name a file" }
  try {
    const text = readFileSync(file, "utf8")
    parse(text)
    return { value: text }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : ""
    return /^E[A-Z]+$/.test(code)
      ? { problem: `must name a file that can be read (${code})` }
      : { problem: `must name a PEM file that contains ${content}` }
  }
}
