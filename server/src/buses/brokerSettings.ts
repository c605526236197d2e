// What the settings of a service mean for every broker that is another process.
import type { BusTerms } from "../ports/BusAdapter.ts"

/** The same for every broker. */
export const brokerDefaults = {
  clientName: "punctual",
  // The contract of the bus requires this header name.
  aggregateHeader: "serviceCallId",
  connectTimeoutMs: 10_000,
  publishTimeoutMs: 10_000,
}

/** The settings that have an effect only if the URL demands TLS. */
export const tlsTerms = (isTls: boolean): ReadonlyArray<keyof BusTerms> =>
  isTls ? ["caFile", "certFile", "keyFile"] : []

/** PEM files. `tls` is present if the URL demands TLS. */
export const tlsOf = (
  isTls: boolean,
  { caFile, certFile, keyFile }: BusTerms,
): { readonly tls?: TlsFiles } =>
  isTls
    ? {
        tls: {
          ...(caFile === undefined ? {} : { caFile }),
          ...(certFile === undefined || keyFile === undefined ? {} : { certFile, keyFile }),
        },
      }
    : {}

interface TlsFiles {
  readonly caFile?: string
  readonly certFile?: string
  readonly keyFile?: string
}
