// The form of a namespace's settings sends what the reader changed, and nothing else.
import { describe, expect, test } from "bun:test"
import type { NamespaceView } from "../console/api.ts"
import { changesOf, settingsDraftOf } from "../console/namespaces/settingsDraft.ts"

const none = { count: 0, capped: false }
const plain: NamespaceView = {
  namespace: "billing",
  webhookSecrets: [],
  paused: false,
  pending: none,
  dead: none,
}
const full: NamespaceView = {
  ...plain,
  maxPending: 10,
  maxInFlight: 5,
  createsPerSecond: 7,
  retryPolicy: {
    maxAttempts: 3,
    initialInterval: "5s",
    backoffMultiplier: 4,
    maxInterval: "8h",
    jitter: 0.2,
    maxDuration: "1d",
  },
  onDead: {
    type: "webhook",
    url: "https://h/dead",
    method: "PUT",
    headers: { "x-a": "b" },
    timeout: "15s",
    body: "envelope",
  },
}
const waits: NamespaceView = { ...plain, retryPolicy: { waits: ["1m", "1h"] } }

describe("a draft", () => {
  test("without changes sends nothing, also after a choice was taken back", () => {
    for (const view of [plain, full, waits]) {
      const draft = settingsDraftOf(view)
      expect(changesOf(draft, view)).toEqual({})
      expect(changesOf({ ...draft, maxPending: ` ${draft.maxPending} ` }, view)).toEqual({})
    }
    const { retry, onDead, ...rest } = settingsDraftOf(plain)
    const back = {
      ...rest,
      retry: { ...retry, maxAttempts: "9" },
      onDead: { ...onDead, url: "https://typed" },
    }
    expect(changesOf(back, plain)).toEqual({})
  })

  test("sends an emptied field as null, and text that is no number as it is", () => {
    const draft = { ...settingsDraftOf(full), maxPending: "", maxInFlight: "many", createsPerSecond: "1.5" }
    expect(changesOf(draft, full)).toEqual({ maxPending: null, maxInFlight: "many", createsPerSecond: 1.5 })
  })

  test("sends a retry policy as a whole, in the form that the reader chose", () => {
    const draft = settingsDraftOf(full)
    expect(changesOf({ ...draft, retry: { ...draft.retry, jitter: "0" } }, full)).toEqual({
      retryPolicy: { ...full.retryPolicy, jitter: 0 },
    })
    const listed = { ...draft.retry, form: "waits" as const, waits: "1m,1h 1d", maxDuration: "" }
    expect(changesOf({ ...draft, retry: listed }, full)).toEqual({
      retryPolicy: { waits: ["1m", "1h", "1d"] },
    })
    expect(changesOf({ ...draft, retry: { ...draft.retry, form: "default" } }, full)).toEqual({
      retryPolicy: null,
    })
  })

  test("keeps method, headers and time-out of a target whose URL changes", () => {
    const draft = settingsDraftOf(full)
    const { body: _, ...target } = full.onDead?.type === "webhook" ? full.onDead : { body: "" }
    expect(changesOf({ ...draft, onDead: { ...draft.onDead, url: "https://other" } }, full)).toEqual({
      onDead: { ...target, url: "https://other" },
    })
    expect(changesOf({ ...draft, onDead: { ...draft.onDead, type: "none" } }, full)).toEqual({ onDead: null })
    const other = settingsDraftOf(plain)
    expect(changesOf({ ...other, onDead: { ...other.onDead, type: "event" } }, plain)).toEqual({
      onDead: { type: "event" },
    })
  })
})
