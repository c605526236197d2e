// The part of the MongoDB client that Punctual uses. Code that needs the client imports this file by its path. So every
// tool resolves the packages from this folder, where `npm ci` puts them when a MongoDB URL is first configured.
export {
  BSON,
  type ClientSession,
  type Db,
  type Document,
  MongoClient,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from "mongodb"
