// The parts of the pages that need no browser: times, the search text, JSON trees, tables.
import { describe, expect, test } from "bun:test"
import { timerEventTypes } from "@punctual/api/TimerEvents"
import { errorClasses, finishReasons, listStates } from "@punctual/api/TimerFilter"
import { momentsOf, placesOf } from "../console/timer/moments.ts"
import { summaryOf } from "../console/timer/summary.ts"
import { timerEvents } from "../console/timerEvents.ts"
import { headEveryMsAfter } from "../console/timers/headEveryMs.ts"
import { parseSearch, requestOf, searchText, withWord } from "../console/timers/search.ts"
import { hostIn, searchHints, searchProblems } from "../console/timers/searchHelp.ts"
import { selectionOf, spanOf } from "../console/timers/stripSpan.ts"
import { errorWords, reasonWords, stateWords } from "../console/timers/words.ts"
import { axisTicks } from "../kit/axisTicks.ts"
import { csvLine } from "../kit/exportRows.ts"
import { type JsonNode, jsonTree } from "../kit/jsonTree.ts"
import {
  clockText,
  dayText,
  durationText,
  exactText,
  instantIn,
  offsetText,
  relativeText,
  shortText,
} from "../kit/times.ts"

const at = Date.parse("2026-11-17T09:30:00.250Z")

describe("times", () => {
  test("are shown in the zone, with milliseconds if there are any", () => {
    expect(exactText(at, "UTC")).toBe("Tue 2026-11-17 09:30:00.250")
    expect(exactText(at, "Asia/Kolkata")).toBe("Tue 2026-11-17 15:00:00.250")
    expect(offsetText(at, "Asia/Kolkata")).toBe("+05:30")
    expect(offsetText(at, "America/New_York")).toBe("-05:00")
    expect(offsetText(at, "UTC")).toBe("Z")
    expect(clockText(Date.parse("2026-11-17T23:00:00Z"), "Europe/Berlin")).toBe("00:00:00")
  })

  test("are as short in lists as the reader can do without", () => {
    expect(shortText(at, at + 3_600_000, "UTC")).toBe("09:30:00")
    expect(shortText(at, at + 86_400_000, "UTC")).toBe("Tue 17 Nov 09:30")
    expect(shortText(at, at + 365 * 86_400_000, "UTC")).toBe("Tue 17 Nov 2026 09:30")
  })

  test("a local time becomes its instant, and back, on every day of a year in several zones", () => {
    for (const zone of ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]) {
      for (let day = 0; day < 366; day++) {
        const instant = Date.parse("2026-01-01T12:34:56.789Z") + day * 86_400_000
        expect([zone, instantIn(zone, dayText(instant, zone), clockText(instant, zone))]).toEqual([
          zone,
          instant,
        ])
      }
    }
  })

  test("of a time that occurs twice the first counts, and a time that is skipped moves on", () => {
    expect(instantIn("Europe/Berlin", "2026-10-25", "02:30")).toBe(Date.parse("2026-10-25T00:30:00Z"))
    expect(instantIn("Europe/Berlin", "2026-03-29", "02:30")).toBe(Date.parse("2026-03-29T01:30:00Z"))
  })

  test("a time of day may be short", () => {
    for (const clock of ["6", "06", "6:00", "0600", "600", "06:00:00"]) {
      expect([clock, instantIn("UTC", "2026-02-20", clock)]).toEqual([
        clock,
        Date.parse("2026-02-20T06:00:00Z"),
      ])
    }
  })

  test("what is not a date or a time is none", () => {
    for (const [day, clock] of [
      ["2026-02-30", "10:00"],
      ["2026-02-20", "25:00"],
      ["", "10:00"],
      ["2026-02-20", ""],
    ] as const) {
      expect(instantIn("UTC", day, clock)).toBeUndefined()
    }
  })

  test("durations have their two largest units", () => {
    expect(durationText(250)).toBe("250 ms")
    expect(durationText(1_500)).toBe("1.5 s")
    expect(durationText(65_000)).toBe("1 m 5 s")
    expect(durationText(3_600_000)).toBe("1 h")
    expect(durationText(3 * 86_400_000 + 4 * 3_600_000 + 5_000)).toBe("3 d 4 h")
    expect(relativeText(at, at)).toBe("now")
    expect(relativeText(at + 65_000, at)).toBe("in 1 m 5 s")
    expect(relativeText(at - 65_000, at)).toBe("1 m 5 s ago")
  })
})

describe("the axis", () => {
  test("has marks at whole hours of the zone, also after the clocks change", () => {
    const fromMs = Date.parse("2026-10-24T22:00:00Z")
    const ticks = axisTicks({ fromMs, untilMs: fromMs + 12 * 3_600_000 }, "Europe/Berlin", 1_200)
    expect(ticks.length).toBeGreaterThan(5)
    for (const { atMs } of ticks) expect(clockText(atMs, "Europe/Berlin")).toEndWith(":00:00")
  })

  test("says the month when it shows days", () => {
    const texts = (days: number) =>
      axisTicks({ fromMs: at, untilMs: at + days * 86_400_000 }, "UTC", 600).map(({ text }) => text)
    expect(texts(5)[0]).toBe("Wed 18 Nov")
    expect(texts(30)[0]).toBe("19 Nov")
    expect(texts(300)[0]).toMatch(/ \d{4}$/)
  })

  test("has no more marks than fit", () => {
    for (const days of [0.01, 0.1, 1, 10, 100, 1_000]) {
      expect(axisTicks({ fromMs: at, untilMs: at + days * 86_400_000 }, "UTC", 300).length).toBeLessThan(5)
    }
  })
})

describe("the search", () => {
  test("becomes a request", () => {
    const words = parseSearch('state:dead namespace:billing namespace:team-* tag:"a b" id:invoice-* late:5s')
    expect(requestOf(words, { from: "2026-01-01T00:00:00Z" })).toEqual({
      namespaces: ["billing", "team-*"],
      states: ["dead"],
      from: "2026-01-01T00:00:00Z",
      idPrefix: "invoice-",
      tag: "a b",
      minLateness: "5s",
    })
    expect(requestOf([])).toEqual({ namespaces: ["*"], states: ["pending"] })
  })

  test("a word without a field, or with an unknown one, is an id", () => {
    expect(parseSearch("invoice-4711")).toEqual([{ field: "id", value: "invoice-4711" }])
    expect(parseSearch("order:17")).toEqual([{ field: "id", value: "order:17" }])
  })

  test("several words without a field are one id, so that none is lost", () => {
    expect(parseSearch("foo tag:a bar")).toEqual([
      { field: "tag", value: "a" },
      { field: "id", value: "foo bar" },
    ])
  })

  test("what it would be refused for is said in its words", () => {
    expect(searchProblems(parseSearch("state:dead error:5xx reason:refused late:1m30s tag:x"))).toEqual([])
    expect(searchProblems(parseSearch("state:paused"))[0]).toContain("search namespace:…")
    expect(searchProblems(parseSearch("error:oops"))[0]).toContain("timeout, network, 4xx and 5xx")
    expect(searchHints(parseSearch("order:17"))[0]).toContain("“order” is not a field")
    expect(searchHints(parseSearch("tag:x"))).toEqual([])
    expect(["https://h.test:8443/x", "Ledger.example.com", "invoice-1", "a.1"].map(hostIn)).toEqual([
      "h.test:8443",
      "ledger.example.com",
      undefined,
      undefined,
    ])
  })

  test("its text means the same when it is read again", () => {
    for (const value of ["a", "a b", 'a"b', "a\\b", 'tag:"', "ä/ö", "-"]) {
      const words = [{ field: "tag" as const, value }]
      expect(parseSearch(searchText(words))).toEqual(words)
    }
  })

  test("a field that counts once is replaced, and namespaces and states are added", () => {
    const words = parseSearch("tag:a state:dead")
    expect(searchText(withWord(words, { field: "tag", value: "b" }))).toBe("state:dead tag:b")
    expect(searchText(withWord(words, { field: "state", value: "pending" }))).toBe(
      "tag:a state:dead state:pending",
    )
  })

  test("offers the values of the contract", () => {
    expect([...stateWords]).toEqual([...listStates])
    expect([...errorWords]).toEqual([...errorClasses])
    expect([...reasonWords]).toEqual([...finishReasons])
  })
})

test("the pages listen to every event of the contract", () => {
  expect([...timerEvents.types]).toEqual([...timerEventTypes])
})

describe("the span of the strip", () => {
  test("lies mostly ahead for pending timers, and mostly behind for finished ones", () => {
    const ahead = spanOf("24h", false, at)
    const behind = spanOf("24h", true, at)
    expect(ahead.untilMs - ahead.fromMs).toBe(86_400_000)
    expect(ahead.untilMs - at).toBeGreaterThan(80_000_000)
    expect(at - behind.fromMs).toBeGreaterThan(80_000_000)
  })

  test("is what the address says, and the default if the address makes no sense", () => {
    expect(spanOf("1000-5000", false, at)).toEqual({ fromMs: 1_000, untilMs: 5_000 })
    for (const text of ["5000-1000", "x", "", "1-1"])
      expect(spanOf(text, false, at)).toEqual(spanOf("24h", false, at))
  })

  test("shows the part of the range of the list that lies within it", () => {
    const span = { fromMs: 1_000, untilMs: 5_000 }
    expect(selectionOf(null, null, span)).toBeUndefined()
    expect(selectionOf(new Date(0).toISOString(), new Date(2_000).toISOString(), span)).toEqual({
      fromMs: 1_000,
      untilMs: 2_000,
    })
    expect(selectionOf(new Date(6_000).toISOString(), null, span)).toBeUndefined()
  })
})

describe("JSON", () => {
  const written = (node: JsonNode | undefined): string => {
    if (node === undefined) return ""
    if (node.kind === "value") return node.text
    const entries = node.entries.map(
      ({ name, value }) => (name === undefined ? "" : `${name}:`) + written(value),
    )
    return `${node.open}${entries.join(",")}${node.open === "{" ? "}" : "]"}`
  }

  test("keeps every value as it was written", () => {
    for (const text of [
      '{"n":9007199254740993123,"x":1.10,"e":1E400,"a":[true,false,null,[]],"a":{},"s":"\\u00e4\\"}"}',
      "12345678901234567890",
      '"[}"',
      "[]",
    ]) {
      expect(written(jsonTree(text))).toBe(text)
    }
  })

  test("of a huge value the first part is shown", () => {
    const tree = jsonTree(`[${"1,".repeat(50_000)}1]`)
    expect(tree).toMatchObject({ kind: "list", isCut: true })
  })
})

describe("tables", () => {
  test("cells that a program would run as a formula are made harmless", () => {
    expect(csvLine(["=1+1", "+1", "-1", "@x", "ok", 'a"b', "a,b", undefined, -5])).toBe(
      `'=1+1,'+1,'-1,'@x,ok,"a""b","a,b",,-5\r\n`,
    )
  })
})

test("a page asks for new rows less often if the service takes longer to answer", () => {
  expect([1, 200, 500, 60_000].map(headEveryMsAfter)).toEqual([2_000, 2_000, 5_000, 10_000])
})

describe("the moments of a life", () => {
  const timer = {
    namespace: "n",
    timerId: "t",
    state: "pending",
    revision: 1,
    fireId: "f",
    executeAt: "2026-11-17T10:00:00.000Z",
    fireAt: "2026-11-17T10:01:00.000Z",
    attempts: 2,
    attemptLog: [
      { at: "2026-11-17T10:00:00.001Z", status: 503, error: "answered 503", durationMs: 5 },
      { at: "2026-11-17T10:00:30.000Z", status: 503, error: "answered 503", durationMs: 5 },
    ],
    target: { type: "event" },
    retryPolicy: { waits: [] },
    correlationId: "c",
    createdAt: "2026-11-01T00:00:00.000Z",
    updatedAt: "2026-11-17T10:00:30.005Z",
  } as const

  test("are in order, with the numbers of the attempts and the next one", () => {
    expect(momentsOf(timer).map(({ kind, number }) => [kind, number])).toEqual([
      ["created", undefined],
      ["due", undefined],
      ["attempt", 1],
      ["attempt", 2],
      ["next", 3],
    ])
    expect(momentsOf({ ...timer, attempts: 40 }).map(({ number }) => number)).toEqual([
      undefined,
      undefined,
      39,
      40,
      41,
    ])
  })

  test("number the attempt that runs after those that ended, as the summary does", () => {
    const { fireAt: _, attemptLog: __, ...rest } = timer
    const attemptStartedAt = "2026-11-17T10:01:00.000Z"
    const first = { ...rest, state: "inFlight", attempts: 0, attemptStartedAt } as const
    expect(momentsOf(first).at(-1)).toMatchObject({ kind: "running", number: 1 })
    expect(summaryOf(first, Date.parse(attemptStartedAt)).text).toMatch(/^Attempt 1 began/)
  })

  test("have places from 0 to 1 that keep their order", () => {
    const places = placesOf(momentsOf(timer).map(({ atMs }) => atMs))
    expect(places[0]).toBe(0)
    expect(places.at(-1)).toBeCloseTo(1)
    expect([...places].sort((a, b) => a - b)).toEqual([...places])
  })
})
