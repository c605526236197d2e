// The settings of all namespaces in memory, so that hot paths do not ask the store. The node reads them all before
// anything fires, and then reads changes twice a second. So a change takes effect on all nodes within a second, and at
// once on the node that made it. While the store is unreachable, the known settings stay in force.
import type { Documents } from "@punctual/documents/Documents"
import { Clock, Context, Effect, Layer, Schedule, Schema, type Scope } from "effect"
import type { NamespaceSettings, ServiceSettings } from "../../domain/NamespaceSettings.ts"
import type { Ability } from "../../ports/Adapter.ts"
import type { SealingKeyFile } from "../../ports/SealingKeyFile.ts"
import { type StoreError, TimerStore } from "../../ports/TimerStore.ts"
import { type KnownCounts, type KnownNamespace, KnownSettings } from "./KnownSettings.ts"
import { type CannotSeal, type ReadyToSeal, SealingKeys } from "./SealingKeys.ts"
import type { SecretSeal } from "./SecretSeal.ts"
import { type SettingsRecord, SettingsRecords, serviceRecord } from "./SettingsRecords.ts"

/** Other callers kept writing the same settings, so nothing was changed. */
export class SettingsContended extends Schema.TaggedError<SettingsContended>()("SettingsContended", {
  namespace: Schema.String,
}) {}

/** As many namespaces as allowed have settings already, so nothing was changed. */
export class TooManySettings extends Schema.TaggedError<TooManySettings>()("TooManySettings", {
  limit: Schema.Number,
}) {}

/** How many namespaces may have settings, unless the operator sets another limit. All nodes keep them in memory. */
const namespacesByDefault = 10_000

export interface DirectoryOptions {
  /** How many namespaces may have settings. */
  readonly maxNamespaces?: number
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
    ): Effect.Effect<SettingsRecord, StoreError | SettingsContended | TooManySettings | E>
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
  const { maxNamespaces = namespacesByDefault } = options
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
    hasChanged = (yield* known.openAgain) || hasChanged
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

  /** Past pauses only matter for timers that are pending now. Without such timers they need not be kept alone. */
  const withoutOldPauses = (namespace: string, settings: NamespaceSettings) =>
    namespace !== serviceRecord && Object.keys(settings).join() === "pastPauses"
      ? timers.count({ namespace, state: "pending", limit: 1 }).pipe(
          Effect.map(({ count }): NamespaceSettings => (count === 0 ? {} : settings)),
          Effect.catch(() => Effect.succeed(settings)),
        )
      : Effect.succeed(settings)

  const change: NamespaceDirectory["Service"]["change"] = Effect.fnUntraced(
    function* (namespace, nowMs, edit) {
      for (let tries = 0; tries < changesAtMost; tries++) {
        const before = yield* store.get(namespace)
        const edited = yield* edit(before.settings)
        const settings = edited === before.settings ? edited : yield* withoutOldPauses(namespace, edited)
        if (settings === before.settings) return before
        const isFirst = before.version === 0 && namespace !== serviceRecord
        if (isFirst && Object.keys(settings).length === 0) return before
        if (isFirst && known.size >= maxNamespaces)
          return yield* new TooManySettings({ limit: maxNamespaces })
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
        .pipe(Effect.tap(() => Effect.flatMap(known.openAgain, (isNew) => (isNew ? tell : Effect.void)))),
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
