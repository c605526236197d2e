// Uses a new certificate when its files change, without a restart. If the new files are wrong, the old certificate stays
// in use, and the log says why.
import type { TlsPair, TlsPairFiles } from "@punctual/door/TlsPair"
import { TlsWatch } from "@punctual/door/TlsWatch"
import { Effect, Metric, Schedule } from "effect"
import { settingName } from "./settingName.ts"

export interface CertificateRenewal {
  /** For the names of the metric and of settings. */
  readonly namePrefix: string
  readonly files: TlsPairFiles
  /** What the listener uses now. */
  readonly pair: TlsPair
  /** Throws if the runtime refuses the certificate. */
  readonly use: (pair: TlsPair) => void
}

/** How often the files are read. */
const lookEveryMs = 2_000

/** Runs until it is interrupted. */
export const renewCertificate = (renewal: CertificateRenewal): Effect.Effect<void> => {
  const { namePrefix, files, pair, use } = renewal
  const expiry = Metric.gauge(`${namePrefix}_tls_certificate_expiry_seconds`, {
    description: "When the certificate of the service expires, in seconds since 1970.",
  })
  const inUse = ({ expiresAt }: TlsPair): Effect.Effect<void> =>
    Metric.update(expiry, Math.floor(expiresAt.getTime() / 1_000))
  const watch = new TlsWatch(files, pair)
  const renewed = (next: TlsPair) =>
    Effect.try({ try: () => use(next), catch: (error) => String(error) }).pipe(
      Effect.andThen(inUse(next)),
      Effect.andThen(Effect.logInfo("The service uses a new certificate.")),
      Effect.annotateLogs({ expiresAt: next.expiresAt.toISOString() }),
      Effect.catch((why) => kept(files.certFile, why)),
    )
  const look = Effect.flatMap(
    Effect.promise(() => watch.look()),
    (change) => {
      if (change === "none") return Effect.void
      if ("pair" in change) return renewed(change.pair)
      const { file, problem } = change
      const [setting, path] =
        file === "cert" ? ["TLS_CERT_FILE", files.certFile] : ["TLS_KEY_FILE", files.keyFile]
      return kept(path, `${settingName(namePrefix, setting)} ${problem}`)
    },
  )
  return Effect.andThen(inUse(pair), Effect.repeat(look, Schedule.spaced(lookEveryMs))).pipe(Effect.asVoid)
}

const kept = (path: string, why: string): Effect.Effect<void> =>
  Effect.logError(`The new certificate cannot be used, so the service keeps the old one: ${why}.`).pipe(
    Effect.annotateLogs({ path }),
  )
