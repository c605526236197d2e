// What a proxy says about its client, and who may say it.
import { describe, expect, test } from "bun:test"
import { AddressRanges } from "@punctual/door/AddressRanges"
import { TrustedProxies } from "@punctual/door/TrustedProxies"

const proxies = new TrustedProxies(
  new AddressRanges([
    ["10.0.0.0", 8],
    ["fd00::", 8],
  ]),
)
const headersOf = (headers: Readonly<Record<string, string>>) => ({
  get: (name: string) => headers[name] ?? null,
})
const clientOf = (remoteAddress: string, headers: Readonly<Record<string, string>>) =>
  proxies.clientOf(remoteAddress, headersOf(headers))

test("nothing that another address says counts", () => {
  const headers = {
    "x-forwarded-for": "10.0.0.9",
    "x-forwarded-host": "timers.example.com",
    "x-forwarded-proto": "https",
  }
  for (const address of ["192.0.2.1", "11.0.0.1", "::1", "fe80::1%eth0", ""]) {
    expect(clientOf(address, headers)).toBeUndefined()
    expect(clientOf("10.0.0.1", headers)).toBeDefined()
  }
})

describe("the address of the client", () => {
  const cases: ReadonlyArray<readonly [law: string, forwardedFor: string, address: string]> = [
    ["is the one that the proxy saw", "203.0.113.7", "203.0.113.7"],
    ["is not what the client claims", "10.0.0.5, 198.51.100.1, 203.0.113.7", "203.0.113.7"],
    ["is behind all listed proxies", "198.51.100.1, 203.0.113.7, 10.0.0.5, fd00::5", "203.0.113.7"],
    ["is the first of listed proxies only", "10.0.0.5, 10.0.0.6", "10.0.0.5"],
    ["may have a port", "203.0.113.7:4711", "203.0.113.7"],
    ["may be IPv6 in brackets, with a port", "[2001:DB8::1]:4711", "2001:db8::1"],
    ["may be IPv6 without brackets", "2001:db8:0:0::1", "2001:db8::1"],
    ["is the nearest known one if the proxy does not know it", "203.0.113.7, unknown, 10.0.0.6", "10.0.0.6"],
    ["is the proxy if the proxy says nothing", "", "10.0.0.1"],
    ["is the proxy if the proxy says nonsense", "a'b;c", "10.0.0.1"],
  ]
  for (const [law, forwardedFor, address] of cases) {
    test(law, () => {
      expect(clientOf("10.0.0.1", { "x-forwarded-for": forwardedFor })).toEqual({ address })
    })
  }

  test("is found for a proxy whose IPv4 address the system shows as IPv6", () => {
    expect(clientOf("::ffff:10.0.0.1", { "x-forwarded-for": "203.0.113.7" })).toEqual({
      address: "203.0.113.7",
    })
  })
})

test("the last host and scheme count, because the nearest proxy wrote them", () => {
  expect(
    clientOf("10.0.0.1", {
      "x-forwarded-host": "evil.test, timers.example.com",
      "x-forwarded-proto": "http, HTTPS",
    }),
  ).toEqual({ address: "10.0.0.1", host: "timers.example.com", isSecure: true })
  expect(clientOf("10.0.0.1", { "x-forwarded-proto": "http" })).toEqual({
    address: "10.0.0.1",
    isSecure: false,
  })
})
