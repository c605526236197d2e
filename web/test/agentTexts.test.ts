// The parts of the agent's pages that need no browser: texts, filters, drafts and JSON.
import { describe, expect, test } from "bun:test"
import { callMethods } from "@punctual/api/agent/CallRequest"
import { callStatuses } from "@punctual/api/agent/ServiceCallView"
import type { Call, CallCounts, CallDetail } from "../agent/agentApi.ts"
import { statuses } from "../agent/agentApi.ts"
import {
  bulkFilter,
  callMethodNames,
  countIn,
  isFiltered,
  listQuery,
  searchOf,
  toggledStatus,
} from "../agent/calls/callSearch.ts"
import { concernedBy, statusesFor } from "../agent/calls/changeMany.ts"
import { durationMsOf, latenessMsOf, pathOf, summaryOfCall } from "../agent/callTexts.ts"
import { requestCurl } from "../agent/curlTexts.ts"
import {
  bodyFault,
  draftFaults,
  draftOfCall,
  emptyDraft,
  isRequestDraft,
  missingInDraft,
  requestToCopy,
  submissionText,
  withoutSecrets,
} from "../agent/request/requestDraft.ts"
import { formatJson, jsonFault } from "../kit/jsonFault.ts"

const call: Call = {
  tenantId: "shop",
  serviceCallId: "c",
  version: 3,
  status: "Scheduled",
  name: "A call",
  tags: [],
  starred: false,
  method: "POST",
  host: "a.test",
  url: "https://a.test/x",
  correlationId: "1",
  submittedAt: "2030-01-01T08:00:00.000Z",
  dueAt: "2030-01-01T09:00:00.000Z",
}

const search = (query: string) => searchOf(new URLSearchParams(query))

test("the pages know the statuses and methods of the contract", () => {
  expect([...statuses]).toEqual([...callStatuses])
  expect([...callMethodNames]).toEqual([...callMethods])
})

describe("the filter of the list", () => {
  test("is what the address says, without what makes no sense", () => {
    const found = search("status=Failed,Nonsense,Running&starred=maybe&tag=vip&sort=due&order=up&name=")
    expect(found).toEqual({ status: ["Running", "Failed"], tag: "vip", sort: "due", order: "desc" })
    expect(listQuery(found)).toEqual({ status: "Running,Failed", tag: "vip", sort: "due" })
    expect(bulkFilter(found)).toEqual({ status: ["Running", "Failed"], tag: "vip" })
    expect([isFiltered(found), isFiltered(search("sort=due"))]).toEqual([true, false])
  })

  test("all statuses are the same as none", () => {
    expect(toggledStatus(search(""), "Failed")).toBe("Failed")
    expect(toggledStatus(search("status=Failed"), "Failed")).toBeUndefined()
    const allButOne = statuses.filter((status) => status !== "Failed").join(",")
    expect(toggledStatus(search(`status=${allButOne}`), "Failed")).toBeUndefined()
  })

  test("only calls that have not begun are counted for a cancel", () => {
    const counts: CallCounts = {
      Submitted: 1,
      Scheduled: 2,
      Running: 4,
      Succeeded: 8,
      Failed: 16,
      Cancelled: 32,
      capped: false,
    }
    expect(countIn(counts, [])).toBe(63)
    expect(concernedBy("star", search(""), counts)).toBe(63)
    expect(concernedBy("cancel", search(""), counts)).toBe(3)
    expect(concernedBy("cancel", search("status=Scheduled,Failed"), counts)).toBe(2)
    expect(concernedBy("cancel", search("status=Failed"), counts)).toBe(0)
    expect(statusesFor("cancel", search("status=Failed"))).toEqual([])
  })
})

describe("what became of a call", () => {
  test("lateness counts from the due time, or from the submission of a call that was due before it", () => {
    expect(latenessMsOf(call)).toBeUndefined()
    const started = { ...call, startedAt: "2030-01-01T09:00:00.250Z" }
    expect(latenessMsOf(started)).toBe(250)
    expect(latenessMsOf({ ...started, dueAt: "2030-01-01T07:00:00.000Z" })).toBe(3_600_250)
    expect(durationMsOf({ ...started, finishedAt: "2030-01-01T09:00:01.250Z" })).toBe(1_000)
    expect(durationMsOf({ ...started, response: { status: 200, latencyMs: 7 } })).toBe(7)
  })

  test("is a sentence for every status", () => {
    const nowMs = Date.parse("2030-01-01T08:00:00Z")
    expect(summaryOfCall(call, nowMs).title).toBe("It is due in 1 h")
    for (const status of statuses) expect(summaryOfCall({ ...call, status }, nowMs).title).not.toBe("")
    const error = { kind: "timeout", message: "no answer within 60 s" } as const
    const failed: Call = { ...call, status: "Failed", startedAt: "2030-01-01T09:00:00.004Z", error }
    expect(summaryOfCall(failed, nowMs)).toEqual({
      tone: "bad",
      title: "The service did not answer in time",
      text: "No answer within 60 s. The request was sent 4 ms after its due time.",
    })
    expect(pathOf({ url: "https://a.test:8443/x/y", host: "a.test:8443" })).toBe("/x/y")
  })
})

describe("JSON", () => {
  test("a mistake has a place and a reason", () => {
    const faults: ReadonlyArray<readonly [text: string, place: string, reason: RegExp]> = [
      ['{"a": 1,}', "1:9", /name in double quotes/],
      ["{'a': 1}", "1:2", /double quotes/],
      ['{\n  "a": 01\n}', "2:8", /stands where a value must be/],
      ['{"a" 1}', "1:6", /a colon/],
      ["[1 2]", "1:4", /a comma/],
      ["[1, 2", "1:6", /ends too early/],
      ['["open', "1:2", /closing quote/],
      ["{} {}", "1:4", /after the end/],
      ["", "1:1", /ends too early/],
      ["[1}", "1:3", /stands where/],
    ]
    for (const [text, place, reason] of faults) {
      const fault = jsonFault(text)
      expect([text, `${fault?.line}:${fault?.column}`]).toEqual([text, place])
      expect(fault?.message).toMatch(reason)
    }
    for (const text of ["1", '"a"', "[]", '{"a":[1,{"b":null}]}']) expect(jsonFault(text)).toBeUndefined()
  })

  test("a layout keeps every value as it was written", () => {
    expect(formatJson('{"a":12345678901234567890.10,"a":[],"b":{"c":[1,"x, {y}"]}}')).toBe(
      '{\n  "a": 12345678901234567890.10,\n  "a": [],\n  "b": {\n    "c": [\n      1,\n      "x, {y}"\n    ]\n  }\n}',
    )
    const formatted = formatJson('[1,[2,{"a":"\\""}]]')
    expect(formatJson(formatted)).toBe(formatted)
  })
})

describe("the draft of a request", () => {
  const draft = {
    ...emptyDraft,
    method: "POST",
    url: " https://a.test/x?n=1 ",
    body: '{"n": 12345678901234567890}',
  }

  test("becomes a submission in which numbers keep all their digits", () => {
    const text = submissionText(draft, "UTC", "key")
    expect(text).toContain('"body": {"n": 12345678901234567890}')
    expect(JSON.parse(text)).toMatchObject({
      idempotencyKey: "key",
      request: { url: "https://a.test/x?n=1" },
    })
    expect(JSON.parse(text)).not.toContainKeys(["name", "delay", "dueAt", "tags", "serviceCallId"])
  })

  test("sends a text as it is, and a JSON text with its quotes", () => {
    const bodyOf = (changes: object) => JSON.parse(submissionText({ ...draft, ...changes }, "UTC")).request
    expect(bodyOf({ bodyKind: "text", body: "a=1\n" }).body).toBe("a=1\n")
    expect(bodyOf({ body: '"quoted"' })).toMatchObject({
      body: '"quoted"',
      headers: { "content-type": "application/json" },
    })
    expect(bodyOf({ method: "GET" })).not.toContainKey("body")
    expect(bodyOf({ bodyKind: "none" })).not.toContainKey("body")
  })

  test("says when: now, in a while, or at an instant with the offset of its zone", () => {
    const due = (when: "now" | "in" | "at") =>
      JSON.parse(
        submissionText(
          {
            ...draft,
            due: { when, delay: " 90s ", atMs: Date.parse("2030-06-01T07:00:00Z"), zone: "Europe/Berlin" },
          },
          "UTC",
        ),
      )
    expect(due("now")).not.toContainAnyKeys(["delay", "dueAt"])
    expect(due("in").delay).toBe("90s")
    expect(due("at").dueAt).toBe("2030-06-01T09:00:00+02:00")
  })

  test("names what is wrong and what is missing", () => {
    const header = (name: string, value: string, row = 0) => ({ row, name, value })
    expect([...draftFaults({ ...draft, url: "a.test" }).keys()]).toEqual(["/request/url"])
    const twice = { ...draft, headers: [header("X-A", "1"), header("x-a", "2", 1)] }
    expect(draftFaults(twice).get("/request/headers")).toContain("twice")
    const long = { ...draft, due: { when: "in" as const, delay: "9999d" } }
    expect(draftFaults(long).get("/delay")).toContain("at most")
    expect(missingInDraft({ ...draft, url: "" }).get("/request/url")).toBe("is required")
    for (const value of ["", "[redacted]"]) {
      const secret = { ...draft, headers: [header("Authorization", value)] }
      expect(missingInDraft(secret).get("/request/headers")).toContain("Authorization")
    }
    expect(bodyFault({ ...draft, body: "{" })?.message).toContain("too early")
    expect(bodyFault({ ...draft, body: "{", bodyKind: "text" })).toBeUndefined()
  })

  test("is kept without secrets, and anything else that the browser kept is refused", () => {
    const headers = [
      { row: 0, name: "Authorization", value: "Bearer abc" },
      { row: 1, name: "x-team", value: "a" },
    ]
    const kept = withoutSecrets({ ...draft, headers })
    expect(kept.headers.map(({ value }) => value)).toEqual(["", "a"])
    expect(isRequestDraft(JSON.parse(JSON.stringify(kept)))).toBe(true)
    for (const other of [null, 1, {}, { ...kept, headers: 1 }, { ...kept, url: undefined }]) {
      expect(isRequestDraft(other)).toBe(false)
    }
  })

  test("of another call has its request, to be made now", () => {
    const found: CallDetail = {
      call: { ...call, tags: ["vip"] },
      request: { method: "PUT", url: "https://a.test/x?y", headers: { a: "b" }, body: "not json" },
      timeline: [],
    }
    expect(draftOfCall(found)).toMatchObject({
      method: "PUT",
      url: "https://a.test/x?y",
      bodyKind: "text",
      body: "not json",
      tags: ["vip"],
      due: { when: "now" },
      serviceCallId: "",
    })
  })

  test("as curl has every word quoted", () => {
    const text = requestCurl(requestToCopy({ ...draft, body: `{"a":"it's"}` }))
    expect(text).toBe(
      [
        "curl -s -X POST",
        "'https://a.test/x?n=1'",
        "-H 'content-type: application/json'",
        `--data-raw '{"a":"it'\\''s"}'`,
      ].join(" \\\n  "),
    )
  })
})
