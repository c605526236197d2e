// Which hosts are the service itself.
import { expect, test } from "bun:test"
import { hostAndPort } from "@punctual/door/hostAndPort"
import { OwnHosts } from "@punctual/door/OwnHosts"

const hostsOf = (...texts: ReadonlyArray<string>) => texts.flatMap((text) => hostAndPort(text) ?? [])
const onLoopback = (...texts: ReadonlyArray<string>) =>
  new OwnHosts({ isOnLoopback: true, hosts: hostsOf(...texts) })
const onNetwork = (...texts: ReadonlyArray<string>) =>
  new OwnHosts({ isOnLoopback: false, hosts: hostsOf(...texts) })

test("a host is a name or an address, with or without a port", () => {
  expect(hostAndPort("Timers.Example.com.")).toEqual({ name: "timers.example.com" })
  expect(hostAndPort("localhost:8080")).toEqual({ name: "localhost", port: 8080 })
  expect(hostAndPort("[::1]:80")).toEqual({ name: "::1", port: 80 })
  expect(hostAndPort("[0:0:0:0:0:0:0:1]")).toEqual({ name: "::1" })
  for (const wrong of ["", ":80", "a:b", "a:99999", "::1", "[::1", "[x]", "a b", "a/b", "a@b", "a..b", "."]) {
    expect([wrong, hostAndPort(wrong)]).toEqual([wrong, undefined])
  }
})

test("on loopback a request must name this machine or a listed host", () => {
  const own = onLoopback("timers.local", "proxy.example:8443")
  for (const host of [
    "localhost",
    "LOCALHOST:8080",
    "localhost.:8080",
    "app.localhost:1",
    "127.0.0.1:8080",
    "127.1.2.3",
    "[::1]:8080",
    "[::ffff:127.0.0.1]",
    "timers.local",
    "timers.local:99",
    "proxy.example:8443",
  ])
    expect([host, own.accepts(host)]).toEqual([host, true])
  for (const host of [
    "evil.test",
    "evil.test:8080",
    "localhost.evil.test",
    "notlocalhost",
    "127.0.0.1.evil.test",
    "128.0.0.1",
    "0.0.0.0:8080",
    "[::2]",
    "proxy.example",
    "proxy.example:8444",
    "sub.timers.local",
    "127.0.0.1:8080, evil.test",
  ])
    expect([host, own.accepts(host)]).toEqual([host, false])
})

test("a refused host does not become accepted by being repeated, and an accepted one stays accepted", () => {
  const own = onLoopback()
  for (let round = 0; round < 3; round++) {
    expect(own.accepts("localhost:1")).toBe(true)
    expect(own.accepts("evil.test")).toBe(false)
    expect(own.accepts("evil.test")).toBe(false)
  }
})

test("a client that is no browser may leave the host out", () => {
  expect(onLoopback().accepts(null)).toBe(true)
  expect(onLoopback().accepts("")).toBe(true)
})

test("beyond loopback a request may name any host", () => {
  expect(onNetwork().accepts("anything.example:1")).toBe(true)
})

test("an origin is own if its host and port are those that the request names, whatever the scheme", () => {
  const own = onNetwork()
  const pairs: ReadonlyArray<readonly [origin: string, host: string, isOwn: boolean]> = [
    ["http://localhost:8080", "localhost:8080", true],
    ["https://timers.example.com", "timers.example.com", true],
    ["http://timers.example.com", "timers.example.com", true],
    ["https://timers.example.com", "timers.example.com:443", true],
    ["https://TIMERS.example.com", "timers.example.com", true],
    ["http://[::1]:8080", "[::1]:8080", true],
    ["http://localhost:3000", "localhost:8080", false],
    ["http://timers.example.com", "timers.example.com:443", false],
    ["https://timers.example.com", "timers.example.com:8443", false],
    ["https://timers.example.com:8443", "timers.example.com", false],
    ["https://evil.test", "timers.example.com", false],
    ["https://timers.example.com.evil.test", "timers.example.com", false],
    ["null", "null", false],
    ["file://", "localhost", false],
    ["chrome-extension://localhost", "localhost", false],
    ["http://localhost/", "localhost", false],
    ["", "", false],
  ]
  for (const [origin, host, isOwn] of pairs) {
    expect([origin, host, own.includes(origin, [host])]).toEqual([origin, host, isOwn])
  }
})

test("an origin is own if it is a listed host, on the usual ports unless a port is listed", () => {
  const own = onLoopback("timers.example.com", "other.example:8443")
  const isOwn = (origin: string) => own.includes(origin, ["127.0.0.1:8080", undefined, null])
  expect(
    ["https://timers.example.com", "http://timers.example.com", "https://other.example:8443"].map(isOwn),
  ).toEqual([true, true, true])
  expect(
    ["https://timers.example.com:3000", "https://other.example", "https://evil.test"].map(isOwn),
  ).toEqual([false, false, false])
})
