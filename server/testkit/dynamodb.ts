// Stores on DynamoDB Local, for suites and tests. Each test file starts one server, and every store has its own tables.
import { afterAll, beforeAll } from "bun:test"
import { type DynamoPlace, parseDynamoUrl } from "@punctual/aws/dynamoUrl"
import { Documents } from "@punctual/documents/Documents"
import type { DocumentsFixture } from "@punctual/documents/testkit/Documents.suite"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import { shardOf } from "../src/domain/TimerKey.ts"
import { textOfLog } from "../src/stores/AttemptLogText.ts"
import { DynamoStore, type DynamoStoreOptions, tablesAt } from "../src/stores/dynamodb/DynamoStore.ts"
import { keyPlace, lifePlace, tableNamesOf } from "../src/stores/dynamodb/keys.ts"
import { textOfSpec } from "../src/stores/SpecText.ts"
import { DynamoServer } from "./DynamoServer.ts"
import { RowDamage } from "./RowDamage.ts"
import type { StorageFixture } from "./ShardStorage.suite.ts"
import type { StoreFixture } from "./StoreFixture.ts"
import { sampleTimer } from "./timers.ts"

/** A server for the tests of the current `describe`. */
export const dynamoForTests = (): (() => DynamoServer) => {
  let server: DynamoServer | undefined
  beforeAll(async () => {
    server = await DynamoServer.start()
  }, 120_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })
  return () => {
    if (server === undefined) throw new Error("the server has not been started")
    return server
  }
}

export const placeOf = (url: string): DynamoPlace => {
  const parsed = parseDynamoUrl(url)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

export const dynamoStore = (url: string, options: Omit<DynamoStoreOptions, "place">) =>
  DynamoStore.layer({ place: placeOf(url), ...options })

export const dynamoFixture = (server: () => DynamoServer): StoreFixture => ({
  name: "dynamodb",
  writesSlowly: true,
  fresh: ({ shards }) => Layer.unwrap(Effect.sync(() => dynamoStore(server().url(), { shards }))),
  damageable: ({ shards }) =>
    Layer.unwrap(
      Effect.sync(() => {
        const url = server().url()
        return Layer.merge(dynamoStore(url, { shards }), Layer.succeed(RowDamage, damageIn(url, shards)))
      }),
    ),
  reopened: ({ shards }) => {
    const url = server().url()
    const layer = () => dynamoStore(url, { shards })
    return { first: layer(), second: layer(), dispose: () => {} }
  },
})

export const dynamoStorageFixture = (server: () => DynamoServer): StorageFixture => ({
  name: "dynamodb",
  refusedTimer: sampleTimer({ correlationId: "a\ud800b" }),
  storage: ({ shards }) => Layer.unwrap(Effect.sync(() => dynamoStore(server().url(), { shards }))),
})

export const dynamoDocumentsFixture = (
  name: string,
  server: () => DynamoServer,
  open: (url: string) => Layer.Layer<Documents, unknown>,
): DocumentsFixture => ({
  name,
  fresh: Effect.gen(function* () {
    const url = server().url()
    const first = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(first, Exit.void))
    const documents = Context.get(yield* Layer.buildWithScope(open(url), first), Documents)
    const table = tableNamesOf(placeOf(url).prefix).control
    return {
      documents,
      damage: (kind, id, json) =>
        Effect.promise(() =>
          tablesAt(placeOf(url)).update({ table, key: { pk: `doc#${kind}`, sk: id } }, { set: { json } }),
        ),
      reopened: Scope.close(first, Exit.void).pipe(
        Effect.andThen(Layer.build(open(url))),
        Effect.map(Context.get(Documents)),
      ),
    }
  }),
})

const damageIn = (url: string, shards: number): RowDamage["Service"] => {
  const place = placeOf(url)
  const names = tableNamesOf(place.prefix)
  const set = (row: Timer | FinishedLife, texts: Readonly<Record<string, string | undefined>>) =>
    Effect.promise(async () => {
      const at =
        "fireAt" in row
          ? keyPlace(names, shardOf(row.uuid, shards), row)
          : lifePlace(names, row.uuid, row.fireId)
      await tablesAt(place).update(at, { set: texts })
    })
  return {
    damage: (row, texts) => set(row, { ...texts }),
    repair: (row) =>
      set(row, {
        spec: textOfSpec(row.spec),
        last_attempt: row.attemptLog === undefined ? undefined : textOfLog(row.attemptLog),
        tags: row.tags === undefined ? undefined : JSON.stringify(row.tags),
      }),
  }
}
