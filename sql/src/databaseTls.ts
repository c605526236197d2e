// TLS to the database, as the URL's parameters ask for it. They have the names and the meaning that PostgreSQL's own
// clients give them. A parameter without an effect is refused, because the user expects one. The driver gets the
// result, and none of the parameters.
import { orOf } from "@punctual/api/orOf"
import { isPair, type ReadPem, readCertificate, readPrivateKey } from "@punctual/door/pemFiles"

const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const

export type SslMode = (typeof sslModes)[number]

export interface DatabaseTls {
  readonly mode: SslMode
  /** The texts of PEM files. Without `ca`, the authorities of the system are trusted. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** The problem continues a sentence that begins with the name of the setting: "must contain …". */
export type ReadTls = { readonly value: DatabaseTls } | { readonly problem: string }

const tlsParameters = ["sslmode", "sslrootcert", "sslcert", "sslkey"]

/**
 * What the parameters ask for. Reads the files that they name. A problem never shows the value of a parameter. `others`
 * are the parameters that are not about TLS.
 */
export const parseTls = (query: URLSearchParams, others: ReadonlyArray<string> = ["schema"]): ReadTls => {
  const parameters = [...others, ...tlsParameters]
  const names = [...query.keys()]
  const unknown = names.find((name) => !parameters.includes(name))
  if (unknown !== undefined) {
    const which = /^[A-Za-z_]{1,40}$/.test(unknown) ? `the parameter ${unknown}` : "an unknown parameter"
    return { problem: `must not contain ${which} after the ?, only ${orOf(parameters)}` }
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return { problem: `must contain the parameter ${twice} only once` }
  const mode = query.get("sslmode") ?? "disable"
  if (!isSslMode(mode)) return { problem: `must have an sslmode that is ${orOf(sslModes)}` }
  return filesOf(query, mode)
}

const filesOf = (query: URLSearchParams, mode: SslMode): ReadTls => {
  const [rootFile, certFile, keyFile] = ["sslrootcert", "sslcert", "sslkey"].map((name) => query.get(name))
  if (typeof rootFile === "string" && !mode.startsWith("verify-")) {
    return { problem: "must have sslmode=verify-ca or sslmode=verify-full if it has sslrootcert" }
  }
  if (typeof certFile !== typeof keyFile) return { problem: "must have both sslcert and sslkey, or none" }
  if (typeof certFile === "string" && (mode === "disable" || mode === "prefer")) {
    return {
      problem:
        "must have sslmode=require, sslmode=verify-ca or sslmode=verify-full if it has sslcert and sslkey",
    }
  }
  const ca = fileIn("sslrootcert", rootFile, readCertificate)
  if ("problem" in ca) return ca
  const cert = fileIn("sslcert", certFile, readCertificate)
  if ("problem" in cert) return cert
  const key = fileIn("sslkey", keyFile, readPrivateKey)
  if ("problem" in key) return key
  if (cert.value !== undefined && key.value !== undefined && !isPair(cert.value, key.value)) {
    return { problem: "must have an sslkey that belongs to the certificate in sslcert" }
  }
  return {
    value: {
      mode,
      ...(ca.value === undefined ? {} : { ca: ca.value }),
      ...(cert.value === undefined ? {} : { cert: cert.value }),
      ...(key.value === undefined ? {} : { key: key.value }),
    },
  }
}

const fileIn = (
  name: string,
  file: string | null | undefined,
  read: (file: string) => ReadPem,
): { readonly value: string | undefined } | { readonly problem: string } => {
  if (file === null || file === undefined) return { value: undefined }
  const text = read(file)
  return "problem" in text ? { problem: `must be corrected: its ${name} ${text.problem}` } : text
}

const isSslMode = (text: string): text is SslMode => (sslModes as ReadonlyArray<string>).includes(text)

type DriverTls = boolean | "prefer" | (Omit<DatabaseTls, "mode"> & { readonly rejectUnauthorized: boolean })

/** The driver's options. An object makes it require TLS, and `prefer` must not. */
export const driverTls = ({ mode, ...files }: DatabaseTls): { readonly tls: DriverTls } => {
  if (mode === "disable") return { tls: false }
  if (mode === "prefer") return { tls: "prefer" }
  // Said explicitly, so that no variable of the environment turns the check off.
  return { tls: { ...files, rejectUnauthorized: mode !== "require" } }
}

/** Codes of failures of the handshake. They have no SQLSTATE. */
const tlsCodes = /CERT|VERIFY|SELF_SIGNED|UNABLE_TO_GET|^EPROTO$|^ERR_SSL|BORINGSSL|TLS_NOT_AVAILABLE/

export const isTlsCode = (code: string): boolean => tlsCodes.test(code)

interface TlsFailure {
  readonly code: string
  /** The SQLSTATE, or an empty text. */
  readonly state: string
  readonly message: string
}

/** What to do about a connection that failed because of TLS. `undefined` if it failed for another reason. */
export const whyTlsFailed = (
  { code, state, message }: TlsFailure,
  mode: SslMode,
  inUrl: string,
): string | undefined => {
  if (state.startsWith("28") && /client certificate/.test(message))
    return `the server wants a client certificate: name its files with sslcert and sslkey in ${inUrl}.`
  if (state.startsWith("28") && /^no pg_hba\.conf entry.* no encryption$/.test(message))
    return `the server may want TLS: add sslmode=verify-full or sslmode=require to ${inUrl}, or change pg_hba.conf.`
  if (state !== "" || !isTlsCode(code)) return undefined
  if (/TLS_NOT_AVAILABLE/.test(code))
    return `the server offers no TLS, and sslmode=${mode} requires it: turn on ssl at the server, or change sslmode in ${inUrl}.`
  if (/ALTNAME/.test(code))
    return `the certificate of the server is for another host: use a host name that the certificate contains, or sslmode=verify-ca, in ${inUrl}.`
  if (code === "EPROTO" || /ALERT/.test(message))
    return `the server refused the TLS connection: it may not trust the client certificate. Check sslcert and sslkey in ${inUrl}.`
  return `the certificate of the server cannot be trusted: name the file of the authority that signed it with sslrootcert in ${inUrl}.`
}
