/**
 * The certificate and the private key of a server, from two PEM files. They are checked together, so that a wrong file
 * is an error with a name and not a failed handshake.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { readFile, stat } from "node:fs/promises"

export interface TlsPairFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Both as PEM. */
export interface TlsPair {
  /** The certificate of the server, and then its chain. */
  readonly cert: string
  readonly key: string
  readonly expiresAt: Date
}

/** Which file is wrong, and what it must be, as the end of a sentence about its setting. */
export interface TlsProblem {
  readonly file: "cert" | "key"
  readonly problem: string
}

/** No chain of certificates is this long. */
const fileBytesMax = 1024 * 1024

/** For the start, which waits for it anyway. */
export const readTlsPair = ({ certFile, keyFile }: TlsPairFiles): TlsPair | TlsProblem => {
  const cert = readOne("cert", certFile)
  if (typeof cert !== "string") return cert
  const key = readOne("key", keyFile)
  return typeof key === "string" ? tlsPairOf(cert, key) : key
}

const readOne = (file: TlsProblem["file"], path: string): string | TlsProblem => {
  try {
    return whyNotFile(file, statSync(path)) ?? readFileSync(path, "utf8")
  } catch (error) {
    return unreadable(file, error)
  }
}

/** For later looks: a slow file system must not hold the thread. */
export const readTlsTexts = async ({
  certFile,
  keyFile,
}: TlsPairFiles): Promise<{ readonly cert: string; readonly key: string } | TlsProblem> => {
  const cert = await readOneLater("cert", certFile)
  if (typeof cert !== "string") return cert
  const key = await readOneLater("key", keyFile)
  return typeof key === "string" ? { cert, key } : key
}

const readOneLater = async (file: TlsProblem["file"], path: string): Promise<string | TlsProblem> => {
  try {
    return whyNotFile(file, await stat(path)) ?? (await readFile(path, "utf8"))
  } catch (error) {
    return unreadable(file, error)
  }
}

/** A pipe or a device could keep the reader waiting. */
const whyNotFile = (
  file: TlsProblem["file"],
  found: { isFile(): boolean; readonly size: number },
): TlsProblem | undefined =>
  found.isFile() && found.size <= fileBytesMax
    ? undefined
    : { file, problem: `must name a file of at most ${fileBytesMax} bytes` }

const unreadable = (file: TlsProblem["file"], error: unknown): TlsProblem => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable"
  return { file, problem: `must name a file that can be read (${code})` }
}

export const tlsPairOf = (cert: string, key: string): TlsPair | TlsProblem => {
  const certificate = certificateIn(cert)
  if (certificate === undefined)
    return {
      file: "cert",
      problem: "must name a PEM file whose parts -----BEGIN CERTIFICATE----- are certificates",
    }
  if (/^-----BEGIN ENCRYPTED|^Proc-Type:.*ENCRYPTED/m.test(key))
    return { file: "key", problem: "must name a key without a passphrase" }
  const privateKey = privateKeyIn(key)
  if (privateKey === undefined)
    return { file: "key", problem: "must name a PEM file that contains -----BEGIN PRIVATE KEY-----" }
  return certificate.checkPrivateKey(privateKey)
    ? { cert, key, expiresAt: new Date(certificate.validTo) }
    : {
        file: "key",
        problem:
          "must name the key of the first certificate in the certificate's file, and it is another key",
      }
}

/** The first certificate of the file. `undefined` also if a later one cannot be read. */
const certificateIn = (text: string): X509Certificate | undefined => {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
  try {
    const [first] = blocks.map((block) => new X509Certificate(block))
    return first
  } catch {
    return undefined
  }
}

const privateKeyIn = (text: string): KeyObject | undefined => {
  try {
    return createPrivateKey(text)
  } catch {
    return undefined
  }
}
