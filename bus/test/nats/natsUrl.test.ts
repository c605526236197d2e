// The URL of a NATS server: its hosts, its credentials and whether it requires TLS.
import { describe, expect, test } from "bun:test"
import { type NatsAddress, parseNatsUrl } from "../../src/nats/natsUrl.ts"

const addressOf = (url: string): NatsAddress => {
  const parsed = parseNatsUrl(url)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

describe("a NATS server", () => {
  test("is named by its host or hosts, each with its port or the usual one", () => {
    expect(addressOf("nats://broker")).toEqual({ servers: ["broker:4222"], isTls: false })
    expect(addressOf("nats://127.0.0.1:4333/").servers).toEqual(["127.0.0.1:4333"])
    expect(addressOf("nats://a.example,b_2:1,[::1],[fe80::1]:65535").servers).toEqual([
      "a.example:4222",
      "b_2:1",
      "[::1]:4222",
      "[fe80::1]:65535",
    ])
  })

  test("gets a user and a password, or a token, percent-decoded", () => {
    const authOf = (credentials: string) => {
      const { servers, auth } = addressOf(`nats://${credentials}@h1,h2`)
      expect(servers).toEqual(["h1:4222", "h2:4222"])
      return auth
    }
    expect(authOf("ann:pw")).toEqual({ user: "ann", password: "pw" })
    expect(authOf("a%3Ann:p:%40%2F%3F%23%2C%20%25%C3%A9")).toEqual({ user: "a:nn", password: "p:@/?#, %é" })
    expect(authOf("s3%2Fcret")).toEqual({ token: "s3/cret" })
    expect(addressOf("nats://h")).not.toHaveProperty("auth")
  })
})
