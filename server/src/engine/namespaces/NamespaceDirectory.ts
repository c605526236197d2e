// The settings of all namespaces in memory, so that hot paths do not ask the store. The node reads them all before
// anything fires, and then reads changes twice a second. So a change takes effect on all nodes within a second, and at
// once on the node that made it. While the store is unreachable, the known settings stay in force.
import type { Documents } from "@punctual/documents/Documents"
import { Clock, Context, Effect, Layer, Schedule, Schema, type Scope } from "effect"
import type { NamespaceSettings, PastPause, ServiceSettings } from "../../domain/NamespaceSettings.ts"
import { pausesOf } from "../../domain/pausedTime.ts"
import type { Ability } from "../../ports/Adapter.ts"
import type { SealingKeyFile } from "../../ports/SealingKeyFile.ts"
import { type StoreError, TimerStore } from "../../ports/TimerStore.ts"
import { type CannotSeal, type ReadyToSeal, SealingKeys } from "./SealingKeys.ts"
import type { SecretSeal } from "./SecretSeal.ts"
import { type SettingsRecord, SettingsRecords, serviceRecord } from "./SettingsRecords.ts"

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

/** Other callers kept writing the same settings, so nothing was changed. */
export class SettingsContended extends Schema.TaggedError<SettingsContended>()("SettingsContended", {
  namespace: Schema.String,
}) {}

export interface KnownCounts {
  /** Namespaces that have a pause of their own. */
  readonly paused: number
  /** Namespaces with secrets that cannot be opened here. */
  readonly sealed: number
  /** Settings records that cannot be read. */
  readonly unreadable: number
}

export interface DirectoryOptions {
  /** The keys for webhook secrets. The first one seals; all of them open. */
  readonly secretKeys?: ReadonlyArray<Uint8Array>
  /** Where a key is kept if there are no `secretKeys`, or why it cannot be kept there. */
  readonly keyFile?: Ability<SealingKeyFile>
}

export class NamespaceDirectory extends Context.Service<
  NamespaceDirectory,
  {
    /** The known settings of a namespace, or the defaults if it has none. */
    of(namespace: string): KnownNamespace
    service(): ServiceSettings
    readonly seal: SecretSeal
    /** Callers call this before `seal` seals secrets of the namespace. It creates the key if there is none yet. */
    readyToSeal(namespace: string): Effect.Effect<ReadyToSeal, CannotSeal>
    /** Calls the listener after every change that became known. */
    onChange(listener: () => void): void
    counts(): KnownCounts
    /**
     * Stores the settings that `edit` returns, and puts them in force. `edit` is called again if others write at the
     * same time. If it returns the settings that it was given, nothing changes.
     */
    change<E>(
      namespace: string,
      nowMs: number,
      edit: (settings: SettingsRecord["settings"]) => Effect.Effect<SettingsRecord["settings"], E>,
    ): Effect.Effect<SettingsRecord, StoreError | SettingsContended | E>
    /** Reads the record from the store instead of memory. */
    stored(namespace: string): Effect.Effect<SettingsRecord, StoreError>
    /** The names of namespaces that have settings, timers, history or dead letters, sorted bytewise. */
    names(exclusiveAfter: string, limit: number): Effect.Effect<ReadonlyArray<string>, StoreError>
    /** Reads all changes since the last read. */
    readonly refresh: Effect.Effect<void, StoreError>
  }
>()("punctual/engine/NamespaceDirectory") {
  static layer(
    options: DirectoryOptions = {},
  ): Layer.Layer<NamespaceDirectory, never, Documents | TimerStore> {
    return Layer.effect(NamespaceDirectory, make(options))
  }
}

const refreshEveryMs = 500
const retryFirstReadMs = 250
const recordsAtOnce = 500
const changesAtMost = 8
const warnEveryMs = 60_000

const make = Effect.fnUntraced(function* (
  options: DirectoryOptions,
): Effect.fn.Return<NamespaceDirectory["Service"], never, Documents | TimerStore | Scope.Scope> {
  const store = yield* SettingsRecords.make
  const timers = yield* TimerStore
  const keys = new SealingKeys(options.secretKeys ?? [], options.keyFile)
  const { seal } = keys
  const known = new KnownSettings(seal)
  const listeners: Array<() => void> = []
  const tellSealed = tellingSealed(known, keys)
  const tellUnreadable = tellingUnreadable(known)
  const warnOfPause = yield* warningOfPause(known)

  const tell = Effect.suspend(() => {
    for (const listener of listeners) listener()
    return Effect.andThen(tellUnreadable, tellSealed)
  })

  const refresh = Effect.gen(function* () {
    let hasChanged = false
    for (;;) {
      const changes = yield* store.changesAfter(known.version, recordsAtOnce)
      for (const record of changes) hasChanged = known.takeNext(record) || hasChanged
      if (changes.length < recordsAtOnce) break
    }
    if (known.counts().sealed > 0) yield* keys.load
    hasChanged = known.openAgain() || hasChanged
    if (hasChanged) yield* tell
  })

  // No timer may fire or be created before the settings are known.
  yield* refresh.pipe(
    Effect.tapError(({ message }) =>
      Effect.logWarning(`the settings cannot be read, trying again: ${message}`),
    ),
    Effect.retry(Schedule.spaced(retryFirstReadMs)),
    Effect.orDie,
  )
  yield* warnOfPause
  yield* Effect.sleep(refreshEveryMs).pipe(
    Effect.andThen(Effect.ignore(refresh)),
    // Any defect is caught, because a loop that ends would never see another pause.
    Effect.catchDefect((defect) => Effect.logError(`settings could not be applied: ${defect}`)),
    Effect.andThen(warnOfPause),
    Effect.forever,
    Effect.forkScoped,
  )

  const change: NamespaceDirectory["Service"]["change"] = Effect.fnUntraced(
    function* (namespace, nowMs, edit) {
      for (let tries = 0; tries < changesAtMost; tries++) {
        const before = yield* store.get(namespace)
        const settings = yield* edit(before.settings)
        if (settings === before.settings) return before
        const stored = yield* store.put({ ...before, settings, updatedAt: nowMs })
        if (stored === undefined) continue
        // The settings are in force before the caller is answered, even if changes of others cannot be read now.
        if (known.take(stored)) yield* tell
        yield* Effect.ignore(refresh)
        return stored
      }
      return yield* new SettingsContended({ namespace })
    },
  )

  return {
    of: (namespace) => known.of(namespace),
    service: () => known.service,
    seal,
    readyToSeal: (namespace) =>
      keys
        .ready((candidate) => known.closedTo(candidate, namespace))
        .pipe(Effect.tap(() => (known.openAgain() ? tell : Effect.void))),
    onChange: (listener) => {
      listeners.push(listener)
    },
    counts: () => known.counts(),
    change,
    stored: (namespace) => store.get(namespace),
    names: (exclusiveAfter, limit) =>
      Effect.zipWith(
        store.names(exclusiveAfter, limit),
        timers.namespaces(exclusiveAfter, limit),
        // Names are ASCII, so JavaScript sorts them like the stores do.
        (set, used) => [...new Set([...set, ...used])].sort().slice(0, limit),
      ),
    refresh,
  }
})

/** What is known about a namespace, and the service settings that it was derived from. */
interface Kept {
  readonly known: KnownNamespace
  readonly service: ServiceSettings
  readonly version: number
}

class KnownSettings {
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

  /** Takes the next change. Returns whether it is new. */
  takeNext(record: SettingsRecord): boolean {
    this.#version = Math.max(this.#version, record.version)
    return this.take(record)
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
    this.#byName.set(namespace, { known, service: this.#service, version })
    this.#paused += Number(known.isPaused) - Number(before)
    if (known.secrets === "sealed") this.#sealed.add(namespace)
    else this.#sealed.delete(namespace)
    return true
  }

  /** After another key is used, opens all secrets again. Answers whether something changed. */
  openAgain(): boolean {
    if (this.#openedUnder === this.#seal.changes) return false
    this.#openedUnder = this.#seal.changes
    let hasChanged = false
    for (const [namespace, kept] of this.#byName) {
      const secrets = this.#opened(namespace, kept.known.settings)
      const isSealed = secrets === "sealed"
      if (isSealed === this.#sealed.has(namespace)) continue
      this.#byName.set(namespace, { ...kept, known: { ...kept.known, secrets } })
      if (isSealed) this.#sealed.add(namespace)
      else this.#sealed.delete(namespace)
      hasChanged = true
    }
    return hasChanged
  }

  /** Other namespaces with secrets that the seal does not open: all of them if it is in use, else the first few. */
  closedTo(seal: SecretSeal, except: string): ReadonlyArray<string> {
    if (seal === this.#seal) return this.sealed().filter((namespace) => namespace !== except)
    const closed: Array<string> = []
    for (const [namespace, { known }] of this.#byName) {
      if (namespace === except || openedBy(seal, namespace, known.settings) !== "sealed") continue
      closed.push(namespace)
      if (closed.length === namesTold) break
    }
    return closed
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
    return this.#byName.get(namespace)?.version ?? 0
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

/** Logs when there are namespaces whose secrets cannot be opened, and again when the list or the reason changes. */
const tellingSealed = (known: KnownSettings, keys: SealingKeys): Effect.Effect<void> => {
  let told = ""
  return Effect.suspend(() => {
    const sealed = known.sealed()
    const now = sealed.length === 0 ? "" : `${sealed.join()} ${keys.whyClosed()}`
    if (now === told) return Effect.void
    told = now
    if (sealed.length === 0) return Effect.logInfo("all webhook secrets can be opened")
    return Effect.logError(
      `the webhook secrets of ${someOf(sealed)} cannot be opened, and nothing is sent unsigned: their timers wait until this is fixed: ${keys.whyClosed()}; or set these secrets again`,
    )
  })
}

/** Logs when there are settings that cannot be read, and again when the list changes. */
const tellingUnreadable = (known: KnownSettings): Effect.Effect<void> => {
  let told = ""
  return Effect.suspend(() => {
    const unreadable = known.unreadable()
    const now = unreadable.join()
    if (now === told) return Effect.void
    told = now
    if (unreadable.length === 0) return Effect.logInfo("all settings can be read")
    const namespaces = unreadable.filter((name) => name !== serviceRecord)
    return Effect.logError(
      [
        ...(namespaces.length === 0
          ? []
          : [
              `the settings of ${someOf(namespaces)} cannot be read, so these namespaces count as paused: set their settings again, secrets included, and then resume them`,
            ]),
        ...(unreadable.length === namespaces.length
          ? []
          : [
              "the settings of the service as a whole cannot be read, so it counts as not paused: pause or resume it to replace them",
            ]),
      ].join("; "),
    )
  })
}

const someOf = (names: ReadonlyArray<string>): string => {
  const rest = names.length > namesTold ? `, and ${names.length - namesTold} more` : ""
  return `${names.slice(0, namesTold).join(", ")}${rest}`
}

const namesTold = 10

/** Warns that nothing fires, at most once a minute. */
const warningOfPause = (known: KnownSettings): Effect.Effect<Effect.Effect<void>> =>
  Clock.clockWith((clock) => {
    let warnedNanos: bigint | undefined
    const warn = Effect.suspend(() => {
      const { pause } = known.service
      const nowNanos = clock.monotonicTimeNanosUnsafe()
      const isTooSoon = warnedNanos !== undefined && nowNanos - warnedNanos < BigInt(warnEveryMs) * 1_000_000n
      if (pause === undefined || isTooSoon) return Effect.void
      warnedNanos = nowNanos
      const reason = pause.reason === undefined ? "" : ` (${pause.reason})`
      const since = new Date(pause.sinceMs).toISOString()
      return Effect.logWarning(
        pause.kind === "restored"
          ? `the store was restored from a backup, and nothing has fired since ${since}${reason}: decide what to do with the overdue timers, then resume`
          : `the service has been paused since ${since}${reason}, and nothing fires until it is resumed`,
      )
    })
    return Effect.succeed(warn)
  })
