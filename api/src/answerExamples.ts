/**
 * An example answer for each call of the contract, to the example request of the call. A test sends every example
 * request to a real service and compares the real answer with the example. An example need not show every field.
 */
type Example = Readonly<Record<string, unknown>>

const pending = {
  namespace: "billing",
  timerId: "invoice-4711-reminder",
  state: "pending",
  revision: 1893412800000,
  fireId: "01b8d832-8600-7000-8000-03fe5c9c45b0",
  executeAt: "2030-01-01T09:00:00.000Z",
  fireAt: "2030-01-01T09:00:00.000Z",
  attempts: 0,
  target: {
    type: "webhook",
    url: "https://example.com/hooks/timer",
    method: "POST",
    timeout: "15s",
    body: "envelope",
  },
  retryPolicy: {
    maxAttempts: 10,
    initialInterval: "5s",
    backoffMultiplier: 4,
    maxInterval: "8h",
    jitter: 0.2,
  },
  correlationId: "01b8d832-8600-8000-8001-36d4cdd5baa9",
  createdAt: "2029-12-31T12:00:00.000Z",
  updatedAt: "2029-12-31T12:00:00.000Z",
}

const settings = {
  namespace: "billing",
  webhookSecrets: [],
  maxPending: 100_000,
  createsPerSecond: 200,
  paused: false,
  updatedAt: "2029-12-31T12:00:00.000Z",
}

const counts = { pending: { count: 2, capped: false }, dead: { count: 1, capped: false } }

const message = {
  id: "17",
  namespace: "billing",
  storedAt: "2029-12-31T12:00:00.000Z",
  reason: "refused",
  group: "punctual",
  deliveries: 1,
  firstFailure: { at: "2029-12-31T12:00:00.000Z", error: "dueAt must be an instant with an offset" },
  lastFailure: { at: "2029-12-31T12:00:00.000Z", error: "dueAt must be an instant with an offset" },
  type: "ScheduleTimer",
  aggregateId: "invoice-4711-reminder",
  messageId: "01b8d832-8600-7f00-8000-000000000001",
  messageBytes: 247,
}

const envelope = {
  id: "01b8d832-8600-7f00-8000-000000000001",
  type: "ScheduleTimer",
  tenantId: "billing",
  aggregateId: "invoice-4711-reminder",
  timestampMs: 1893412800000,
  payload: { tenantId: "billing", serviceCallId: "invoice-4711-reminder", dueAt: "tomorrow" },
}

const key = {
  id: "7sKq20XbnR",
  label: "billing service",
  state: "active",
  actions: ["timers.read", "timers.write", "timers.cancel", "payload.read", "calls.read", "calls.write"],
  namespaces: ["billing"],
  createdAt: "2029-12-31T12:00:00.000Z",
  madeBy: "anna",
}

const apiKey = "pnct_7sKq20XbnR_0dJp3yC7uF8Yw5tQxZ2bVnM6sRkLhGaEoTiUcXqWvBz1SVomn"

const job = {
  jobId: "01b8d832-8600-7000-8000-5d1f0c2ab9e4",
  do: "replay",
  filter: { namespaces: ["billing", "team-*"], host: "hooks.example.com" },
  reason: "the receiver works again",
  perSecond: 200,
  expect: 1,
  state: "running",
  startedBy: { caller: "anonymous" },
  startedAt: "2029-12-31T12:00:00.000Z",
  done: { replayed: 0, skipped: 0 },
  examined: 0,
}

const endedJob = {
  ...job,
  state: "done",
  finishedAt: "2029-12-31T12:00:00.000Z",
  done: { replayed: 1, skipped: 0 },
  examined: 1,
}

/** The keys are operation ids. */
export const answerExamples: Readonly<Record<string, Example>> = {
  "timers.create": { result: "created", timer: pending },
  "timers.createMany": {
    results: [
      {
        result: "created",
        timerId: "invoice-4712-reminder",
        revision: 1893412800000,
        fireId: "01b8d832-8600-7000-8002-8efc7f504d28",
      },
      {
        problem: {
          type: "urn:punctual:problem:invalidRequest",
          title: "The request is not valid",
          status: 400,
          code: "invalidRequest",
          detail:
            "/timers/1/delay must be a duration from 0s to 3653d, such as 90s, 1h30m, 250ms, 7d or PT90S",
          errors: [
            {
              pointer: "/timers/1/delay",
              detail: "must be a duration from 0s to 3653d, such as 90s, 1h30m, 250ms, 7d or PT90S",
            },
          ],
        },
      },
    ],
  },
  "timers.get": { timer: { ...pending, payload: { invoice: 4711 } } },
  "timers.update": {
    timer: {
      ...pending,
      revision: 1893412800001,
      fireId: "01b8d832-8600-7000-8068-e389352faf1a",
      executeAt: "2029-12-31T13:30:00.000Z",
      fireAt: "2029-12-31T13:30:00.000Z",
    },
  },
  "timers.delete": { result: "cancelled" },
  "timers.deleteMany": { cancelled: 2, inFlight: 0 },
  "timers.list": { timers: [pending], nextCursor: "eyJ2IjoxLCJhdCI6MTg5MzQ4ODQwMDAwMH0" },
  "timers.count": { count: 1, capped: false },
  "timers.histogram": {
    from: "2030-01-01T00:00:00.000Z",
    until: "2030-01-02T00:00:00.000Z",
    counts: [0, 0, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    total: 52,
    estimated: false,
    asOf: "2029-12-31T12:00:00.000Z",
  },
  "timers.lives": { lives: [{ ...pending, payload: { invoice: 4711 } }] },
  "timers.activity": {
    from: "2030-01-01T00:00:00.000Z",
    until: "2030-01-02T00:00:00.000Z",
    step: "1h",
    latenessUpToMs: [10, 50, 100, 500, 1000, 5000, 30000, 300000],
    points: [
      {
        at: "2030-01-01T09:00:00.000Z",
        created: 12,
        delivered: 11,
        retried: 2,
        dead: 1,
        cancelled: 0,
        lateness: [10, 1, 0, 1, 0, 0, 0, 0, 0],
      },
    ],
    missing: [],
  },
  "timers.replay": { replayed: 3, skipped: 1 },
  "timers.discard": { discarded: 1 },
  "bulk.start": { job },
  "bulk.get": { job: endedJob },
  "bulk.list": { jobs: [endedJob] },
  "bulk.abort": { job: { ...endedJob, state: "aborted" } },
  "cluster.cluster": {
    node: "punctual-1",
    nodes: [
      {
        node: "punctual-1",
        address: "http://10.0.0.11:8080",
        isLive: true,
        isLeaving: false,
        heartbeatAgeMs: 412,
        shards: 2,
      },
    ],
    shards: [
      { shard: 0, owner: "punctual-1", epoch: 4, lagMs: 0 },
      { shard: 1, owner: "punctual-1", epoch: 7, lagMs: 3 },
    ],
  },
  "clock.advance": { now: "2030-01-31T12:00:00.000Z", fired: 1 },
  "namespaces.put": { settings },
  "namespaces.get": { settings: { ...settings, ...counts } },
  "namespaces.list": { namespaces: [{ ...settings, ...counts }] },
  "service.get": {
    now: "2029-12-31T12:00:00.000Z",
    build: { version: "0.1.0", commit: "4f1c2e9", builtAt: "2029-12-01T08:00:00.000Z" },
    settings: [{ name: "TIMER_HTTP_PORT", value: "8080", isSet: false }],
  },
  "service.pause": {
    now: "2029-12-31T12:00:00.000Z",
    pause: { since: "2029-12-31T12:00:00.000Z", kind: "asked", reason: "the receivers are being moved" },
  },
  "service.resume": { now: "2029-12-31T12:00:00.000Z" },
  "breakers.list": {
    node: "punctual-1",
    breakers: [
      { host: "hooks.example.com:443", namespace: "billing", failures: 12, waiting: 340, probeInMs: 21_500 },
    ],
  },
  "breakers.reset": { node: "punctual-1", reset: 1 },
  "egress.check": {
    allowed: true,
    verdict: "allowed",
    entry: "loopback",
    reason: "The entry loopback of TIMER_EGRESS allows it.",
    addresses: [{ address: "127.0.0.1", allowed: true, entry: "loopback" }],
  },
  "messages.list": {
    messages: [{ ...message, preview: JSON.stringify(envelope).slice(0, 200) }],
  },
  "messages.get": { message: { ...message, envelope } },
  "messages.replay": { result: "replayed" },
  "messages.discard": { result: "discarded" },
  "keys.create": { key, apiKey },
  "keys.rotate": { key: { ...key, oldSecretUntil: "2029-12-31T13:00:00.000Z" }, apiKey },
  "keys.revoke": { key: { ...key, state: "revoked", revokedAt: "2029-12-31T12:00:00.000Z" } },
  "keys.revokeLeaked": { result: "revoked" },
  "keys.confirm": { confirmed: ["7sKq20XbnR"] },
  "keys.get": { key },
  "keys.list": { keys: [key] },
  "keys.self": { name: "anonymous", keysRequired: false, actions: ["*"], namespaces: ["*"] },
  "sessions.create": { name: "billing service", endsAt: "2029-12-31T20:00:00.000Z" },
  "sessions.end": { result: "ended" },
  "audit.list": {
    records: [
      {
        id: "998106587199999-999993-6f2d1c08ba47",
        at: "2029-12-31T12:00:00.000Z",
        action: "namespaces.put",
        outcome: "done",
        caller: "anonymous",
        address: "127.0.0.1",
        requestId: "wVq3k0Zt-1f",
        about: { namespace: "billing" },
        before: {},
        after: { maxPending: 100_000, createsPerSecond: 200 },
      },
    ],
  },
}
