// What one node knows about the settings of all namespaces. A namespace without settings has no entry here, so the
// number of entries is the number of namespaces that have settings. The directory bounds it.
import { Effect } from "effect"
import type { NamespaceSettings, PastPause, ServiceSettings } from "../../domain/NamespaceSettings.ts"
import { pausesOf } from "../../domain/pausedTime.ts"
import type { SecretSeal } from "./SecretSeal.ts"
import { type SettingsRecord, serviceRecord } from "./SettingsRecords.ts"

/** The secrets that sign webhooks of a namespace. `sealed`: it has secrets, but no key here opens all of them. */
export type SigningSecrets = ReadonlyArray<Uint8Array> | "sealed"

export interface KnownNamespace {
  readonly settings: NamespaceSettings
  /** By its own pause. For the pause of the whole service see `service`. */
  readonly isPaused: boolean
  /** In order and without overlaps, with the pauses of the whole service. A pause that still lasts has no end. */
  readonly pauses: ReadonlyArray<PastPause>
  readonly secrets: SigningSecrets
}

export interface KnownCounts {
  /** Namespaces that have a pause of their own. */
  readonly paused: number
  /** Namespaces with secrets that cannot be opened here. */
  readonly sealed: number
  /** Settings records that cannot be read. */
  readonly unreadable: number
}

/** What is known about a namespace, and the service settings that it was derived from. */
interface Kept {
  readonly known: KnownNamespace
  readonly service: ServiceSettings
  readonly version: number
}

export class KnownSettings {
  readonly #seal: SecretSeal
  readonly #byName = new Map<string, Kept>()
  #service: ServiceSettings = {}
  #serviceVersion = 0
  /** The value for a namespace without settings. */
  #unset: KnownNamespace = knownOf({}, {}, [])
  #version = 0
  // Updated with every change, because there may be very many namespaces and these values are read all the time.
  #paused = 0
  readonly #sealed = new Set<string>()
  /** The keys that opened the secrets, as `SecretSeal.changes` counts them. */
  #openedUnder = 0
  readonly #unreadable = new Set<string>()

  constructor(seal: SecretSeal) {
    this.#seal = seal
  }

  /** All changes up to this version are known. */
  get version(): number {
    return this.#version
  }

  get service(): ServiceSettings {
    return this.#service
  }

  of(namespace: string): KnownNamespace {
    const kept = this.#byName.get(namespace)
    if (kept === undefined) return this.#unset
    if (kept.service === this.#service) return kept.known
    // The service's settings have changed since. They are applied to each namespace only when it is next read.
    const known = knownOf(kept.known.settings, this.#service, kept.known.secrets)
    this.#byName.set(namespace, { ...kept, known, service: this.#service })
    return known
  }

  /** How many namespaces have settings. */
  get size(): number {
    return this.#byName.size
  }

  /** Takes the next change. Returns whether it is new. */
  takeNext(record: SettingsRecord): boolean {
    const isNew = this.take(record)
    this.#version = Math.max(this.#version, record.version)
    return isNew
  }

  /** Takes one stored record, even if earlier changes are not known yet. Returns whether it is new. */
  take({ namespace, settings, version, isUnreadable }: SettingsRecord): boolean {
    // Of two concurrent reads, the older result may arrive later.
    if (version <= this.#versionOf(namespace)) return false
    if (isUnreadable) this.#unreadable.add(namespace)
    else this.#unreadable.delete(namespace)
    if (namespace === serviceRecord) {
      this.#service = settings
      this.#serviceVersion = version
      this.#unset = knownOf({}, settings, [])
      return true
    }
    const before = this.#byName.get(namespace)?.known.isPaused ?? false
    const known = knownOf(settings, this.#service, this.#opened(namespace, settings))
    if (Object.keys(settings).length === 0) this.#byName.delete(namespace)
    else this.#byName.set(namespace, { known, service: this.#service, version })
    this.#paused += Number(known.isPaused) - Number(before)
    if (known.secrets === "sealed") this.#sealed.add(namespace)
    else this.#sealed.delete(namespace)
    return true
  }

  /**
   * After another key is used, opens all secrets again. Answers whether something changed. There may be many secrets, so
   * other work runs after each slice of them.
   */
  get openAgain(): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      if (this.#openedUnder === this.#seal.changes) return false
      this.#openedUnder = this.#seal.changes
      let hasChanged = false
      for (const names of slicesOf([...this.#byName.keys()])) {
        for (const name of names) hasChanged = this.#openOneAgain(name) || hasChanged
        yield* Effect.yieldNow
      }
      return hasChanged
    })
  }

  #openOneAgain(namespace: string): boolean {
    // The settings may have changed since the pass began.
    const kept = this.#byName.get(namespace)
    if (kept === undefined) return false
    const secrets = this.#opened(namespace, kept.known.settings)
    const isSealed = secrets === "sealed"
    if (isSealed === this.#sealed.has(namespace)) return false
    this.#byName.set(namespace, { ...kept, known: { ...kept.known, secrets } })
    if (isSealed) this.#sealed.add(namespace)
    else this.#sealed.delete(namespace)
    return true
  }

  /** Other namespaces with secrets that the seal does not open: all of them if it is in use, else the first few. */
  closedTo(seal: SecretSeal, except: string): Effect.Effect<ReadonlyArray<string>> {
    return Effect.gen({ self: this }, function* () {
      if (seal === this.#seal) return this.sealed().filter((namespace) => namespace !== except)
      const closed: Array<string> = []
      for (const names of slicesOf([...this.#byName.keys()])) {
        for (const name of names) {
          const settings = this.#byName.get(name)?.known.settings ?? {}
          if (name !== except && openedBy(seal, name, settings) === "sealed") closed.push(name)
          if (closed.length === closedNamed) return closed
        }
        yield* Effect.yieldNow
      }
      return closed
    })
  }

  counts(): KnownCounts {
    return { paused: this.#paused, sealed: this.#sealed.size, unreadable: this.#unreadable.size }
  }

  unreadable(): ReadonlyArray<string> {
    return [...this.#unreadable]
  }

  sealed(): ReadonlyArray<string> {
    return [...this.#sealed]
  }

  #versionOf(namespace: string): number {
    if (namespace === serviceRecord) return this.#serviceVersion
    // All changes up to `version` are known. So a namespace without an entry had no settings at that version.
    return this.#byName.get(namespace)?.version ?? this.#version
  }

  #opened(namespace: string, settings: NamespaceSettings): SigningSecrets {
    return openedBy(this.#seal, namespace, settings)
  }
}

const openedBy = (
  seal: SecretSeal,
  namespace: string,
  { webhookSecrets = [] }: NamespaceSettings,
): SigningSecrets => {
  const opened = webhookSecrets.flatMap((secret) => seal.open(namespace, secret) ?? [])
  return opened.length === webhookSecrets.length ? opened : "sealed"
}

const knownOf = (
  settings: NamespaceSettings,
  service: ServiceSettings,
  secrets: SigningSecrets,
): KnownNamespace => ({
  settings,
  isPaused: settings.pausedSinceMs !== undefined,
  pauses: pausesOf(settings, service),
  secrets,
})

/** How many namespaces are opened without a pause: a few milliseconds of work. */
const openedAtOnce = 100

/** How many closed namespaces a caller needs at most, to name some of them. */
const closedNamed = 10

function* slicesOf(names: ReadonlyArray<string>): Generator<ReadonlyArray<string>> {
  for (let at = 0; at < names.length; at += openedAtOnce) yield names.slice(at, at + openedAtOnce)
}
