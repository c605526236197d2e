// Part of the composition root: opens stores for commands, without a service. The adapter of the URL does this, or its
// error says what to use instead.
import { setServers } from "node:dns"
import { hostname } from "node:os"
import { Documents } from "@punctual/documents/Documents"
import { makeEgressGate } from "@punctual/egress/makeEgressGate"
import { Resolver } from "@punctual/egress/Resolver"
import { Context, Effect, Layer } from "effect"
import type { OpenKeys } from "./cli/keys/KeyAccess.ts"
import type { OpenCopies } from "./cli/store/backup.ts"
import type { OpenExamination } from "./cli/store/doctor.ts"
import type { OpenArchive } from "./cli/store/exportArchive.ts"
import type { OpenImportTarget } from "./cli/store/importArchive.ts"
import type { OpenSchema } from "./cli/store/migrate.ts"
import type { OpenRestoreTarget } from "./cli/store/restore.ts"
import { egressWords } from "./deliverers/webhook/egressWords.ts"
import { SealingKeys } from "./engine/namespaces/SealingKeys.ts"
import { SettingsRecords } from "./engine/namespaces/SettingsRecords.ts"
import type { CommandEgress } from "./maintenance/egressRemark.ts"
import { openStoreKeys } from "./maintenance/StoreKeys.ts"
import type { Ability, AdapterFailure } from "./ports/Adapter.ts"
import { Ids } from "./ports/Ids.ts"
import { ShardLeases } from "./ports/ShardLeases.ts"
import type { StoreAdapter, StoreChoice, StoreOpening } from "./ports/StoreAdapter.ts"
import { TimerStore } from "./ports/TimerStore.ts"
import { driversOf, type InstallDriver } from "./program/drivers.ts"
import { type EgressSetting, type Environment, readStore } from "./settings/Configuration.ts"

export interface StoreKeepingOptions {
  readonly environment: Environment
  readonly stores: ReadonlyArray<StoreAdapter>
  /** The file stores/sqlite/worker.ts. The program's entry builds this URL. */
  readonly workerUrl: URL
  readonly installDriver: InstallDriver
}

export const storeKeeping = (options: StoreKeepingOptions) => {
  /** The store from the flag or from the settings. A command needs no other settings of the service. */
  const storeOf = (storeUrl: string | undefined, usesKeys = false) =>
    Effect.gen(function* () {
      const read = readStore(options.environment, options.stores, { byFlag: storeUrl, usesKeys })
      if ("problems" in read) return yield* Effect.fail({ message: read.problems.join(" ") })
      const { store, shards, secretKeys, egress } = read
      yield* driversOf([store], options.installDriver)
      const opening: StoreOpening = { shards, workerUrl: options.workerUrl, connections: "few" }
      return { store, opening, keys: new SealingKeys(secretKeys, store.sealingKey), egress }
    })

  const archive: OpenArchive = (storeUrl) =>
    Effect.gen(function* () {
      const { store, opening } = yield* storeOf(storeUrl)
      const open = yield* able(store.archive)
      return yield* open(opening)
    })

  const importTarget: OpenImportTarget = (storeUrl) =>
    Effect.gen(function* () {
      const { store, opening } = yield* storeOf(storeUrl)
      const open = yield* able(store.offline)
      return offlineTarget(yield* Layer.build(open(opening)), "import")
    })

  const examination: OpenExamination = (storeUrl) =>
    Effect.gen(function* () {
      const { store, opening, keys, egress } = yield* storeOf(storeUrl, true)
      const open = yield* able(store.doctor)
      const { examine } = yield* open(opening)
      return { shown: store.shown, examine, keys, egress: commandEgress(egress) }
    })

  const copies: OpenCopies = (storeUrl) =>
    Effect.gen(function* () {
      const { store, opening, keys } = yield* storeOf(storeUrl, true)
      const open = yield* able(store.backup)
      return { ...(yield* open(opening)), keys }
    })

  const schema: OpenSchema = (storeUrl) =>
    Effect.gen(function* () {
      const { store, opening } = yield* storeOf(storeUrl)
      const open = yield* able(store.migrate)
      return { ...(yield* open(opening)), shown: store.shown }
    })

  const restoreTarget: OpenRestoreTarget = (storeUrl) =>
    Effect.gen(function* () {
      const { store, opening, keys } = yield* storeOf(storeUrl, true)
      return {
        keys,
        place: Effect.flatMap(able(store.restore), ({ place }) => place(opening)),
        shards: opening.shards,
        recordsIn: (file, shards) =>
          Effect.gen(function* () {
            const { prepared } = yield* able(store.restore)
            return recordsOf(yield* Layer.build(prepared(file, { ...opening, shards })))
          }),
        settling: Effect.gen(function* () {
          const open = yield* able(store.offline)
          const services = yield* Layer.build(Layer.merge(open(opening), Ids.system))
          return { ...offlineTarget(services, "restore"), ids: Context.get(services, Ids) }
        }),
      }
    })

  const storeKeys: OpenKeys = (storeUrl, { creates }) =>
    Effect.gen(function* () {
      const { store, opening } = yield* storeOf(storeUrl)
      const open = yield* able(store.documents)
      const isNew = creates && (yield* createdIfMissing(store, opening))
      return { ...(yield* openStoreKeys(yield* open(opening))), shown: store.shown, isNew }
    })

  return { archive, importTarget, examination, copies, schema, restoreTarget, storeKeys }
}

/** Returns whether there was no store. */
const createdIfMissing = (store: StoreChoice, opening: StoreOpening) =>
  Effect.gen(function* () {
    const open = yield* able(store.migrate)
    const { versions, migrate } = yield* open(opening)
    const { stored } = yield* versions
    if (stored === 0) yield* migrate
    return stored === 0
  })

/** The rules of the service, with its name servers, so that names resolve as they do in the service. */
const commandEgress = (egress: EgressSetting): CommandEgress => {
  if ("problem" in egress) return egress
  const { rules, text, isSet, dnsServers, lookupTimeoutMs } = egress
  if (rules.isOpen) return { gate: undefined, text, isSet }
  if (dnsServers.length > 0) setServers(dnsServers)
  const resolver = new Resolver(lookupTimeoutMs === undefined ? {} : { timeoutMs: lookupTimeoutMs })
  return { gate: makeEgressGate(rules, resolver.resolve, egressWords), text, isSet }
}

const recordsOf = (services: Context.Context<Documents>) => {
  const documents = Context.get(services, Documents)
  return { documents, namespaces: new SettingsRecords(documents) }
}

/** A store that a command holds and writes to. */
const offlineTarget = (
  services: Context.Context<TimerStore | ShardLeases | Documents>,
  command: "import" | "restore",
) => ({
  store: Context.get(services, TimerStore),
  leases: Context.get(services, ShardLeases),
  ...recordsOf(services),
  node: `${command}:${hostname()}:${process.pid}`,
})

/** The ability of the adapter, or a failure that says what to use instead. */
const able = <A>(ability: Ability<A>): Effect.Effect<A, AdapterFailure> =>
  "can" in ability ? Effect.succeed(ability.can) : Effect.fail({ message: ability.instead })
