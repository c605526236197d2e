// MongoDB as a store: a database that several nodes share. Tasks that MongoDB's own tools do better are refused, and the
// error names the tools.
import { Effect, Layer } from "effect"
import type { StoreAdapter, StoreChoice, StoreLayer, StoreOpening } from "../../ports/StoreAdapter.ts"
import {
  type MongodbAddress,
  mongodbForm,
  mongodbSchemes,
  mongodbUrlShown,
  parseMongodbUrl,
} from "./mongodbUrl.ts"

export const mongodb: StoreAdapter = {
  name: "mongodb",
  schemes: mongodbSchemes,
  forms: { [mongodbForm]: "a MongoDB database, which nodes can share; also mongodb+srv://…" },
  driver: "mongodb",
  isShared: true,
  parse: (given) => {
    const parsed = parseMongodbUrl(given)
    return "problem" in parsed ? parsed : { value: choiceOf(parsed.value) }
  },
  shown: mongodbUrlShown,
}

const choiceOf = (address: MongodbAddress): StoreChoice => ({
  adapter: mongodb,
  shown: address.shown,
  place: address.shown,
  open: (opening) => layerOf(address, opening),
  offline: { can: (opening) => layerOf(address, opening) },
  archive: {
    can: () =>
      Effect.flatMap(
        Effect.promise(() => import("./MongodbArchive.ts")),
        ({ MongodbArchive }) => MongodbArchive.open(address),
      ),
  },
  documents: { can: () => Effect.flatMap(keeper, ({ MongodbKeeper }) => MongodbKeeper.documents(address)) },
  doctor: {
    can: () => Effect.map(keeper, ({ MongodbKeeper }) => MongodbKeeper.examination(address, Date.now)),
  },
  migrate: {
    can: ({ shards }) => Effect.map(keeper, ({ MongodbKeeper }) => MongodbKeeper.schema(address, shards)),
  },
  backup: {
    instead:
      "a store on MongoDB is backed up with MongoDB's own tools, such as mongodump with every service stopped, or a " +
      "snapshot of the cluster. To copy timers to another store, use punctual export.",
  },
  restore: {
    instead:
      "a store on MongoDB is restored with MongoDB's own tools, such as mongorestore, with every service stopped. " +
      "Then decide what to do with the overdue timers: punctual restore --force --due-before now fire|dead|discard.",
  },
  sealingKey: {
    instead:
      "Nodes share this store and all need the same key, so no node creates one by itself. Set TIMER_SECRET_KEY to the same key on all nodes; create one with: openssl rand -hex 32",
  },
})

const fewConnections = 4

const layerOf = (address: MongodbAddress, { shards, connections, onFatal }: StoreOpening): StoreLayer =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./MongodbStore.ts")),
      ({ MongodbStore }) =>
        MongodbStore.layer({
          address,
          shards,
          ...(connections === "few" ? { connections: fewConnections } : {}),
          ...(onFatal === undefined ? {} : { onFatal }),
        }),
    ),
  )

const keeper = Effect.promise(() => import("./MongodbKeeper.ts"))
