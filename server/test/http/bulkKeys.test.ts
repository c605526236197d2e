// Jobs on many timers and keys: who may start, see and abort a job, and that a job ends when its key does.
import { describe, expect, test } from "bun:test"
import { type Action, actions } from "@punctual/api/CallTerms"
import { KeyDirectory, type NewKey, type ShownKey } from "@punctual/door/KeyDirectory"
import { Effect } from "effect"
import { eventually } from "../../testkit/eventually.ts"
import { type Answered, type RunningService, withService } from "./ServiceFixture.ts"

const full: NewKey = { label: "anna", actions: ["*"], namespaces: ["*"], madeBy: "test" }

interface Keyed extends RunningService {
  make(rights: Partial<NewKey>): Promise<ShownKey>
  revoke(key: ShownKey): Promise<void>
  /** Calls with a key. */
  ask(key: ShownKey | undefined, path: string, body: unknown): Promise<Answered>
}

const withKeyed = (use: (service: Keyed) => Promise<void>): Promise<void> => {
  let made: Pick<Keyed, "make" | "revoke"> | undefined
  const before = Effect.gen(function* () {
    const keys = yield* KeyDirectory
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    made = {
      make: (rights) => run(keys.create({ ...full, ...rights }, Date.now())),
      revoke: async ({ id }) => void (await run(keys.revoke(id, Date.now()))),
    }
  })
  return withService({ before }, async (service) => {
    if (made === undefined) throw new Error("the keys are not there")
    const ask: Keyed["ask"] = (key, path, body) =>
      service.fetch(`/api/v1/${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(key === undefined ? {} : { authorization: `Bearer ${key.text}` }),
        },
        body: JSON.stringify(body),
      })
    await use({ ...service, ...made, ask })
  })
}

const outcomeOf = ({ status, json }: Answered): string => `${status} ${json?.code ?? "answered"}`

const pending = (namespace: string, count: number) => ({
  timers: Array.from({ length: count }, (_, n) => ({
    namespace,
    timerId: `t-${n}`,
    delay: "1h",
    callbackUrl: "https://h.example/",
  })),
})

const deeds = { replay: "dead.replay", discard: "dead.discard", cancel: "timers.cancel" } as const
const jobOn = (filter: object, deed: keyof typeof deeds = "cancel", expected = 0) => ({
  do: deed,
  filter,
  reason: "test",
  expect: expected,
  perSecond: 5,
})

describe("rights", () => {
  test("a start needs timers.read and the action of what the job does, and no other", () =>
    withKeyed(async ({ ask, make }) => {
      await make({})
      for (const [deed, action] of Object.entries(deeds) as Array<[keyof typeof deeds, Action]>) {
        const job = jobOn({ namespace: "billing" }, deed)
        for (const missing of ["timers.read", action] as const) {
          const key = await make({ actions: actions.filter((other) => other !== missing) })
          const { status, json } = await ask(key, "bulk/start", job)
          expect([deed, status, json.detail]).toEqual([
            deed,
            403,
            `The key needs the action ${missing} in the namespace billing.`,
          ])
        }
        const right = await make({ actions: ["timers.read", action], namespaces: ["billing"] })
        expect([deed, outcomeOf(await ask(right, "bulk/start", job))]).toEqual([deed, "200 answered"])
      }
    }))

  test("a start needs every namespace of its filter, also those of a prefix, and * needs all", () =>
    withKeyed(async ({ ask, make }) => {
      await make({})
      const key = await make({ namespaces: ["team-*", "billing"] })
      const started = async (filter: object) => outcomeOf(await ask(key, "bulk/start", jobOn(filter)))
      for (const filter of [{ namespace: "billing" }, { namespaces: ["team-a", "team-b*", "billing"] }])
        expect([filter, await started(filter)]).toEqual([filter, "200 answered"])
      for (const namespaces of [["billing", "other"], ["tea*"], ["billing*"], ["*"]])
        expect([namespaces, await started({ namespaces })]).toEqual([namespaces, "403 forbidden"])
      const { json } = await ask(key, "bulk/start", jobOn({ namespaces: ["*"] }))
      expect(json.detail).toContain('for all namespaces ("*")')
      expect(json.detail).toContain('give "namespaces": ["team-*", "billing"]')
    }))

  test("a job is shown only to keys that may read all its namespaces, and aborted with its action", () =>
    withKeyed(async ({ ask, make }) => {
      const admin = await make({})
      await ask(admin, "timers/createMany", pending("a", 3))
      const { json } = await ask(admin, "bulk/start", jobOn({ namespaces: ["a", "b"] }, "cancel", 3))
      const { jobId } = json.job
      const part = await make({ namespaces: ["a"] })
      const reader = await make({ actions: ["timers.read"], namespaces: ["a", "b"] })
      const canceller = await make({ actions: ["timers.read", "timers.cancel"], namespaces: ["a", "b"] })
      const blind = await make({ actions: ["timers.cancel"] })
      for (const [key, get, list, abort] of [
        [part, "404 jobNotFound", 0, "404 jobNotFound"],
        [blind, "403 forbidden", undefined, "404 jobNotFound"],
        [reader, "200 answered", 1, "403 forbidden"],
        [canceller, "200 answered", 1, "200 answered"],
      ] as const) {
        expect(outcomeOf(await ask(key, "bulk/get", { jobId }))).toBe(get)
        expect((await ask(key, "bulk/list", {})).json.jobs?.length).toBe(list)
        expect(outcomeOf(await ask(key, "bulk/abort", { jobId }))).toBe(abort)
      }
    }))
})

test("a page of jobs has only those that the key may read, and its cursor names no other", () =>
  withKeyed(async ({ ask, make }) => {
    const admin = await make({})
    const jobIds: Array<string> = []
    for (const namespace of ["a", "b", "b", "a", "b"])
      jobIds.push((await ask(admin, "bulk/start", jobOn({ namespace }))).json.job.jobId)
    const part = await make({ namespaces: ["a"] })
    const listed: Array<string> = []
    let cursor: string | undefined
    do {
      const { json } = await ask(part, "bulk/list", { limit: 1, ...(cursor === undefined ? {} : { cursor }) })
      listed.push(...json.jobs.map(({ jobId }: { jobId: string }) => jobId))
      cursor = json.nextCursor
      if (cursor !== undefined)
        expect(Buffer.from(cursor, "base64url").toString()).toContain(listed.at(-1) ?? "-")
    } while (cursor !== undefined)
    expect(listed).toEqual([jobIds[3] ?? "", jobIds[0] ?? ""])
  }))

describe("a running job", () => {
  const running = async ({ ask }: Keyed, key: ShownKey | undefined) => {
    await ask(key, "timers/createMany", pending("billing", 50))
    const { json } = await ask(key, "bulk/start", jobOn({ namespace: "billing" }, "cancel", 50))
    return json.job.jobId as string
  }

  const problemOf = ({ ask }: Keyed, admin: ShownKey, jobId: string) =>
    eventually("the job has failed", async () => {
      const { job } = (await ask(admin, "bulk/get", { jobId })).json
      if (job.state !== "running")
        expect(job).toMatchObject({ state: "failed", done: { cancelled: expect.any(Number) } })
      return job.state === "running" ? undefined : job.problem
    })

  test("fails when its key is revoked, and does no more", () =>
    withKeyed(async (service) => {
      const admin = await service.make({})
      const key = await service.make({ label: "ben" })
      const jobId = await running(service, key)
      const { job } = (await service.ask(admin, "bulk/get", { jobId })).json
      expect(job.startedBy).toEqual({ caller: "ben", keyId: key.id })
      await service.revoke(key)
      expect(await problemOf(service, admin, jobId)).toBe("The key that started the job has been revoked.")
      expect(await service.pendingIn("billing")).toBeGreaterThan(0)
    }))

  test("that was started without a key fails when keys are required", () =>
    withKeyed(async (service) => {
      const jobId = await running(service, undefined)
      const admin = await service.make({})
      expect(await problemOf(service, admin, jobId)).toBe(
        "The job was started without a key, and keys are required now.",
      )
    }))
})
