// The URL of a Cassandra store.
import { describe, expect, test } from "bun:test"
import { cassandraUrlShown, parseCassandraUrl } from "../../../src/stores/cassandra/cassandraUrl.ts"

const parsed = (url: string) => {
  const read = parseCassandraUrl(url)
  return "problem" in read ? read.problem : read.value
}

describe("the URL of a Cassandra store", () => {
  test("names hosts, a keyspace, a user and a data centre", () => {
    expect(
      parsed("cassandra://ann:p%40ss@a.example,b.example:9043,[::1]/Timers?dc=dc-1&store=prod"),
    ).toMatchObject({
      hosts: ["a.example:9042", "b.example:9043", "[::1]:9042"],
      keyspace: "timers",
      user: "ann",
      password: "p@ss",
      dataCenter: "dc-1",
      store: "prod",
      replication: 3,
      tls: "off",
      acceptsPeriodicSync: false,
    })
    expect(parsed("cassandra://h/k")).toMatchObject({ dataCenter: "datacenter1", store: "punctual" })
    expect(parsed("cassandra://h/k?ca=/a.pem")).toMatchObject({ tls: "verify", caFile: "/a.pem" })
  })

  test.each([
    ["cassandra://h", "a host and a keyspace"],
    ["cassandra:///k", "a host and a keyspace"],
    ["cassandra://h/k/more", "a host and a keyspace"],
    ["cassandra://h:99999/k", "host or host:port"],
    ["cassandra://h/k-1", "letters, digits and _"],
    ["cassandra://h/k?store=a-b", "letters, digits and _"],
    ["cassandra://h/k?replication=0", "replication of 1 to 9"],
    ["cassandra://h/k?tls=maybe", "tls=off or tls=verify"],
    ["cassandra://h/k?commitlog=never", "commitlog=durable or commitlog=periodic"],
    ["cassandra://h/k?password=secret", "no parameters other than"],
    ["cassandra://a:b:c@h/k", "percent-encode"],
    ["cassandra://a:%zz@h/k", "percent-encode"],
  ])("%s is refused", (url, why) => {
    expect(parsed(url)).toContain(why)
  })

  test("is shown without a password and without unknown parameters", () => {
    const url = "cassandra://ann:secret@h1,h2:9043/k?dc=dc1&store=s&ca=/private/ca.pem&password=secret"
    const shown = cassandraUrlShown(url)
    expect(shown).toContain("h1,h2:9043/k")
    expect(shown).toContain("dc=dc1&store=s")
    for (const secret of ["secret", "private"]) expect(shown).not.toContain(secret)
  })
})
