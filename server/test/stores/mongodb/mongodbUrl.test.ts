import { describe, expect, test } from "bun:test"
import { mongodb } from "../../../src/stores/mongodb/adapter.ts"
import { parseMongodbUrl } from "../../../src/stores/mongodb/mongodbUrl.ts"

const problemOf = (url: string): string => {
  const parsed = parseMongodbUrl(url)
  return "problem" in parsed ? parsed.problem : "none"
}

describe("the URL of a MongoDB store", () => {
  test("names hosts, a database and options; without a name the database is punctual", () => {
    for (const [url, database] of [
      ["mongodb://localhost", "punctual"],
      ["mongodb://localhost:27017/", "punctual"],
      ["mongodb://a.test:1,b.test:2,[::1]:3/timers?replicaSet=rs0&tls=true", "timers"],
      ["mongodb://user:pa%40ss@a.test/timers?authSource=admin&w=majority&journal=true", "timers"],
      ["mongodb+srv://user:secret@cluster.test/timers?readPreference=primary", "timers"],
    ] as const) {
      expect(parseMongodbUrl(url)).toMatchObject({ value: { url, database } })
    }
  })

  test("is refused if an option would make answers weaker, and the text names the option", () => {
    for (const option of [
      "w=1",
      "w=0",
      "W=2",
      "journal=false",
      "j=false",
      "readPreference=secondaryPreferred",
      "readConcernLevel=local",
    ]) {
      expect(problemOf(`mongodb://a.test/timers?replicaSet=rs0&${option}`)).toContain(
        `must not contain ${option}`,
      )
    }
  })

  test("is refused without a host, with an unencoded password, or with a name that MongoDB refuses", () => {
    expect(problemOf("mongodb://")).toContain("must name a host")
    expect(problemOf("mongodb://a.test/x/y")).toContain("must name a host")
    expect(problemOf("mongodb://user:p@ss@a.test/x")).toContain("percent-encode")
    expect(problemOf("mongodb://user:p/ss@a.test/x")).toContain("percent-encode")
    expect(problemOf("mongodb://a.test/a.b")).toContain("must name a database")
    expect(problemOf("mongodb+srv://a.test:27017/x")).toContain("without a port")
  })

  test("is shown without the password and without the options", () => {
    for (const [url, shown] of [
      ["mongodb://a.test,b.test:2/timers?tls=true", "mongodb://a.test,b.test:2/timers"],
      ["mongodb://user:secret@a.test/timers?password=secret", "mongodb://…@a.test/timers"],
      ["mongodb+srv://secret@a.test", "mongodb+srv://…@a.test"],
    ] as const) {
      expect(mongodb.shown(url)).toBe(shown)
    }
    for (const wrong of [
      "mongodb://user:se@cret@a.test/x",
      "mongodb://user:se/cret@a.test/x",
      "mongodb://secret x",
    ]) {
      expect(mongodb.shown(wrong)).not.toContain("cret")
    }
  })
})
