// Opening a store on DynamoDB: what it creates, what it refuses, and what an operator reads.
import { describe, expect, test } from "bun:test"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Exit, Layer } from "effect"
import { tablesAt } from "../../../src/stores/dynamodb/DynamoStore.ts"
import { dynamoKeeper } from "../../../src/stores/dynamodb/dynamoKeeper.ts"
import { makeCertificates } from "../../../testkit/Certificates.ts"
import { dynamoMissing } from "../../../testkit/DynamoServer.ts"
import { describeNeeding } from "../../../testkit/describeUnless.ts"
import { dynamoForTests, dynamoStore, placeOf } from "../../../testkit/dynamodb.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { TlsFront } from "../../../testkit/TlsFront.ts"

const opened = (url: string, shards = 2) =>
  Effect.runPromise(Effect.exit(Effect.scoped(Layer.build(dynamoStore(url, { shards })))))

/** The message of the failure. */
const refusal = async (url: string, shards = 2): Promise<string> => {
  const exit = await opened(url, shards)
  if (Exit.isSuccess(exit)) throw new Error("the store was opened")
  return JSON.stringify(exit.cause)
}

describeNeeding(dynamoMissing(), "opening a store on DynamoDB Local", () => {
  const server = dynamoForTests()

  test("several nodes create one store together", async () => {
    const url = server().url()
    const exits = await Promise.all(Array.from({ length: 4 }, () => opened(url)))
    expect(exits.map(Exit.isSuccess)).toEqual([true, true, true, true])
    const { ItemCount } = await tableOf(url, "control")
    expect(ItemCount).toBeGreaterThan(0)
  })

  test("the number of shards is fixed", async () => {
    const url = server().url()
    await opened(url, 2)
    expect(await refusal(url, 3)).toContain("set TIMER_SHARDS to 2")
  })

  test("migrate creates the store, and says which version it has", async () => {
    const url = server().url()
    const [before, after] = await Effect.runPromise(
      Effect.gen(function* () {
        const { versions, migrate } = yield* dynamoKeeper(placeOf(url)).schema(5)
        const first = yield* versions
        yield* migrate
        yield* migrate
        return [first, yield* versions]
      }).pipe(Effect.scoped),
    )
    expect(before).toEqual({ stored: 0, program: 1 })
    expect(after).toEqual({ stored: 1, program: 1 })
    expect(await refusal(url, 2)).toContain("TIMER_SHARDS to 5")
  })

  test("a store of a newer program is refused", async () => {
    const url = server().url()
    await opened(url)
    await tables(url).update(
      { table: `${placeOf(url).prefix}-control`, key: { pk: "schema", sk: "-" } },
      { set: { version: 2 } },
    )
    expect(await refusal(url)).toContain("start the newer program")
  })

  test("a table that removes items by another attribute is refused, because timers would be lost", async () => {
    const url = server().url()
    await opened(url)
    const TableName = `${placeOf(url).prefix}-timers`
    const set = (AttributeName: string, Enabled: boolean) =>
      tables(url).client.call("UpdateTimeToLive", {
        TableName,
        TimeToLiveSpecification: { AttributeName, Enabled },
      })
    await set("ttl", false)
    expect(Exit.isSuccess(await opened(url))).toBe(true)
    await set("due", true)
    expect(await refusal(url)).toContain("would lose timers")
  })

  test("a table of another program is refused", async () => {
    const url = server().url()
    await tables(url).client.call("CreateTable", {
      TableName: `${placeOf(url).prefix}-timers`,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: "other", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "other", KeyType: "HASH" }],
    })
    expect(await refusal(url)).toContain("is not Punctual's")
  })

  test("an access key that is not one is refused with advice, and shown nowhere", async () => {
    const url = server().url().replace("test:secret@", "not-a-key:hidden-secret@")
    const message = await refusal(url)
    expect(message).toContain("check the credentials")
    expect(message).not.toContain("hidden-secret")
  })

  const tables = (url: string) => tablesAt(placeOf(url))
  const tableOf = async (url: string, name: string) => {
    const body = { TableName: `${placeOf(url).prefix}-${name}` }
    return (await tables(url).client.call<{ Table: { ItemCount: number } }>("DescribeTable", body)).Table
  }
})

/** Answers every call as AWS does, because DynamoDB Local checks neither rights nor signatures. */
const answering = async (status: number, type: string, use: (url: string) => Promise<void>) => {
  const aws = createServer((_, response) => {
    response.writeHead(status, { "content-type": "application/x-amz-json-1.0" })
    response.end(JSON.stringify({ __type: `com.amazon.coral.service#${type}`, message: "told by AWS" }))
  })
  await new Promise<void>((resolve) => aws.listen(0, "127.0.0.1", resolve))
  const { port } = aws.address() as AddressInfo
  try {
    await use(`dynamodb://key:hidden-secret@eu-central-1/p?endpoint=http://127.0.0.1:${port}`)
  } finally {
    aws.close()
  }
}

describe("what AWS refuses", () => {
  const cases = [
    [400, "AccessDeniedException", "lack a right"],
    [400, "InvalidSignatureException", "the region in the URL and the clock"],
    [400, "UnrecognizedClientException", "check the credentials and the region"],
    [400, "ExpiredTokenException", "has expired"],
    [503, "ServiceUnavailable", "told by AWS"],
    [400, "ThrottlingException", "told by AWS"],
  ] as const
  // Most of them wait between the client's tries.
  for (const [status, type, advice] of cases) {
    test.concurrent(`${type}: the message says what to do and shows no key`, async () => {
      await answering(status, type, async (url) => {
        const message = await refusal(url)
        expect(message).toContain(advice)
        expect(message).toContain("told by AWS")
        expect(message).not.toContain("hidden-secret")
      })
    }, 30_000)
  }

  test.concurrent("an endpoint whose certificate nobody known has signed is refused, and named", async () => {
    using folder = new TemporaryFolder()
    const nowhere = { host: "127.0.0.1", port: 1 }
    await using front = await TlsFront.before(nowhere, makeCertificates(folder.path))
    const message = await refusal(
      `dynamodb://key:hidden-secret@eu-central-1/p?endpoint=https://${front.address}`,
    )
    expect(message).toContain(`The certificate of https://${front.address}/ cannot be trusted`)
    expect(message).toContain("NODE_EXTRA_CA_CERTS")
    expect(message).not.toContain("hidden-secret")
  }, 30_000)

  test.concurrent("an address where nobody listens is named", async () => {
    const message = await refusal("dynamodb://key:hidden-secret@eu-central-1/p?endpoint=http://127.0.0.1:1")
    expect(message).toContain("DynamoDB does not answer at http://127.0.0.1:1/")
    expect(message).not.toContain("hidden-secret")
  }, 30_000)
})
