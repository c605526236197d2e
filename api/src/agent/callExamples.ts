/** Example answers of the Service Agent's calls, by the operation's id. A test sends the example requests. */
import { answerExamples } from "../answerExamples.ts"

type Example = Readonly<Record<string, unknown>>

export const exampleCall = {
  tenantId: "billing",
  serviceCallId: "invoice-4711",
  version: 3,
  status: "Scheduled",
  name: "Send invoice 4711",
  tags: ["invoice"],
  starred: false,
  method: "POST",
  host: "api.example.com",
  url: "https://api.example.com/invoices",
  correlationId: "01b8d832-8600-8000-8001-36d4cdd5baa9",
  submittedAt: "2030-01-01T08:00:00.000Z",
  dueAt: "2030-01-01T09:00:00.000Z",
} as const

const finished = {
  ...exampleCall,
  version: 6,
  status: "Succeeded",
  attemptId: "01b8d8a4-2c0f-7000-8000-2b9f0c51d7aa",
  runningAt: "2030-01-01T09:00:00.004Z",
  startedAt: "2030-01-01T09:00:00.010Z",
  finishedAt: "2030-01-01T09:00:00.131Z",
  response: { status: 200, latencyMs: 121 },
}

const id = "serviceCalls"

export const callAnswerExamples: Readonly<Record<string, Example>> = {
  [`${id}.submit`]: { result: "submitted", call: { ...exampleCall, version: 1, status: "Submitted" } },
  [`${id}.list`]: {
    calls: [finished],
    counts: { Submitted: 0, Scheduled: 12, Running: 0, Succeeded: 1, Failed: 0, Cancelled: 0, capped: false },
  },
  [`${id}.get`]: {
    call: {
      ...finished,
      response: {
        status: 200,
        latencyMs: 121,
        headers: { "content-type": "application/json" },
        bodySnippet: '{"sent":true}',
      },
    },
    request: {
      method: "POST",
      url: "https://api.example.com/invoices?notify=1",
      headers: { "content-type": "application/json", authorization: "[redacted]" },
      body: '{"invoice":4711}',
    },
    timeline: [
      { at: "2030-01-01T08:00:00.000Z", version: 1, what: "Submitted", status: "Submitted" },
      {
        at: "2030-01-01T09:00:00.004Z",
        version: 4,
        what: "DueTimeReached",
        status: "Running",
        messageId: "01b8d8a4-2c01-7000-8000-03fe5c9c45b0",
      },
    ],
  },
  [`${id}.annotate`]: { call: { ...exampleCall, version: 4, starred: true } },
  [`${id}.cancel`]: { call: { ...exampleCall, version: 4, status: "Cancelled" } },
  [`${id}.reschedule`]: { call: { ...exampleCall, version: 4, dueAt: "2030-01-02T09:00:00.000Z" } },
  [`${id}.runAgain`]: {
    result: "submitted",
    call: {
      ...exampleCall,
      serviceCallId: "01b8d8a4-2c0f-7000-8000-77aa0c51d7aa",
      version: 1,
      status: "Submitted",
    },
  },
  [`${id}.changeMany`]: { matched: 12, changed: 11, skipped: 1 },
  "tenants.listTenants": { tenants: [{ tenantId: "billing" }, { tenantId: "shop" }] },
  "tenants.getSettings": { settings: { hiddenHeaders: ["x-customer-token"] } },
  "tenants.putSettings": { settings: { hiddenHeaders: ["x-customer-token"] } },
  "keys.self": answerExamples["keys.self"] ?? {},
  "sessions.create": answerExamples["sessions.create"] ?? {},
  "sessions.end": answerExamples["sessions.end"] ?? {},
}
