import { describe, expect, test } from "bun:test"
import { dynamoUrlShown, parseDynamoUrl } from "../src/dynamoUrl.ts"

describe("the URL of a store on DynamoDB", () => {
  test("names the region and the prefix; the endpoint follows from the region", () => {
    expect(parseDynamoUrl("dynamodb://eu-central-1/timers")).toEqual({
      value: {
        region: "eu-central-1",
        prefix: "timers",
        endpoint: "https://dynamodb.eu-central-1.amazonaws.com",
      },
    })
    expect(parseDynamoUrl("dynamodb://cn-north-1")).toEqual({
      value: {
        region: "cn-north-1",
        prefix: "punctual",
        endpoint: "https://dynamodb.cn-north-1.amazonaws.com.cn",
      },
    })
  })

  test("can have an access key, percent-encoded, and an endpoint", () => {
    const url = "dynamodb://AK:a%2Fb@us-gov-west-1/p?endpoint=http://127.0.0.1:8000"
    expect(parseDynamoUrl(url)).toEqual({
      value: {
        region: "us-gov-west-1",
        prefix: "p",
        endpoint: "http://127.0.0.1:8000",
        credentials: { accessKeyId: "AK", secretAccessKey: "a/b" },
      },
    })
    expect(dynamoUrlShown(url)).toBe("dynamodb://us-gov-west-1/p?endpoint=http://127.0.0.1:8000")
  })

  const wrong = [
    ["dynamodb://frankfurt/p", "region"],
    ["dynamodb://eu-central-1:80/p", "region"],
    ["dynamodb://eu-central-1/a b", "prefix"],
    ["dynamodb://eu-central-1/a/b", "prefix"],
    ["dynamodb://eu-central-1/%zz", "prefix"],
    ["dynamodb://eu-central-1/p?region=x", "unknown parameter"],
    ["dynamodb://eu-central-1/p?endpoint=file:///x", "endpoint"],
    ["dynamodb://key@eu-central-1/p", "both or none"],
    ["dynamodb:", "region"],
  ] as const
  for (const [url, part] of wrong) {
    test(`${url} is refused because of its ${part}`, () => {
      expect(parseDynamoUrl(url)).toEqual({ problem: expect.stringContaining(part) as string })
    })
  }

  test("is shown without the key, whatever it is", () => {
    for (const url of ["dynamodb://AK:hidden@eu-central-1/p", "dynamodb://AK:hidden@", "dynamodb:hidden@x y"])
      expect(dynamoUrlShown(url)).not.toContain("hidden")
  })
})
