// MongoDB as a store: a database that several nodes share.
import { serverAdapter } from "../serverAdapter.ts"
import {
  type MongodbAddress,
  mongodbForm,
  mongodbSchemes,
  mongodbUrlShown,
  parseMongodbUrl,
} from "./mongodbUrl.ts"

export const mongodb = serverAdapter<MongodbAddress>({
  name: "mongodb",
  schemes: mongodbSchemes,
  forms: { [mongodbForm]: "a MongoDB database, which nodes can share; also mongodb+srv://…" },
  driver: "mongodb",
  parse: parseMongodbUrl,
  shown: mongodbUrlShown,
  open: async (address, opening) =>
    (await import("./MongodbStore.ts")).MongodbStore.layer({ ...opening, address }),
  keep: async (address) => (await import("./mongodbKeeper.ts")).mongodbKeeper(address),
  tools: () => ({
    product: "MongoDB",
    backup: "MongoDB's own tools, such as mongodump with every service stopped, or a snapshot of the cluster",
    restore: "MongoDB's own tools, such as mongorestore",
  }),
})
