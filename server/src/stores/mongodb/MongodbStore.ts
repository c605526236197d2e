// A database of MongoDB, or of a server that speaks its protocol, as a store that several nodes share. It needs no
// transactions of several documents: Commits.ts says why. Leases have their own connections, so neither a slow commit nor
// a long list delays a renewal.
import type { Commands } from "@punctual/documents/mongodb/Commands"
import { mongodbDocuments } from "@punctual/documents/mongodb/mongodbDocuments"
import { Effect, Layer } from "effect"
import { opening, type ServerOpening } from "../openingStores.ts"
import { lanesOver, type ServerWork, serverStore } from "../serverStore.ts"
import { fewestSessions } from "../sessionStore.ts"
import { Commits } from "./Commits.ts"
import { explainedMongodb, isFatal, isTransient, mongodbErrorText } from "./failures.ts"
import { mongodbLeases } from "./Leases.ts"
import { defaultConnections, leaseConnections, settleIdleEveryMs, writeLimits } from "./limits.ts"
import { lookAt } from "./looks.ts"
import type { MongodbAddress } from "./mongodbUrl.ts"
import { commandsTo, openDatabase, serverTimeMs } from "./openDatabase.ts"
import { prune } from "./pruning.ts"
import { readCount, readDue, readHeads, readNames, readScan, readTallies } from "./Reader.ts"

/** What the calls of a store share. */
export interface MongodbConnection {
  readonly commands: Commands
  readonly commits: Commits
}

export const MongodbStore = {
  layer: ({
    address,
    shards,
    connections = defaultConnections,
    onFatal,
  }: ServerOpening & { readonly address: MongodbAddress }) =>
    Layer.effectContext(
      Effect.gen(function* () {
        const warnings = yield* opening(
          () => openDatabase(address, shards),
          (error) => explainedMongodb(error, address.shown),
        )
        for (const warning of warnings) yield* Effect.logWarning(warning)
        const most = connections === "few" ? fewestSessions : connections
        const main = yield* connected(address, most)
        const leases = yield* connected(address, leaseConnections)
        return yield* serverStore({
          lanes: lanesOver(main, leases),
          work,
          shards,
          limits: { ...writeLimits, concurrentWrites: Math.max(1, Math.floor(most / 2)) },
          rules: { isFatal, isTransient, describe: mongodbErrorText },
          onFatal,
          upkeep: { everyMs: settleIdleEveryMs, run: ({ commits }) => commits.settleIdle() },
        })
      }),
    ),
} as const

const connected = (address: MongodbAddress, connections: number) =>
  Effect.acquireRelease(
    Effect.sync((): MongodbConnection => {
      const commands = commandsTo(address, { connections })
      return { commands, commits: new Commits(commands) }
    }),
    ({ commands }) => Effect.promise(() => commands.close()),
  )

const work: ServerWork<MongodbConnection> = {
  storage: {
    open: async ({ commits }, shard) => {
      await commits.settle(shard)
    },
    look: lookAt,
    commit: ({ commits }, sent) => Promise.all(sent.map((commit) => commits.commit(commit))),
    insertNew: ({ commits }, shard, timers) => commits.insertNew(shard, timers),
    due: readDue,
    dueHeads: readHeads,
    scan: readScan,
    count: readCount,
    namespaces: readNames,
    prune,
  },
  tallies: readTallies,
  leases: mongodbLeases,
  documents: ({ commands }) => mongodbDocuments(commands),
  clockMs: ({ commands }) => serverTimeMs(commands),
}
