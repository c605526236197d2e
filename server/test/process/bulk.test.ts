// A job on many timers whose node is killed: another process goes on with it, and each dead letter is replayed once,
// although all of them die again.
import { expect, test } from "bun:test"
import { ClusterHarness } from "../../testkit/ClusterHarness.ts"
import { eventually } from "../../testkit/eventually.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import type { Receiver, WebhookReply } from "../../testkit/Receiver.ts"
import { ProcessRun } from "./ProcessRun.ts"

const gone: WebhookReply = { status: 410, meaning: { result: "dead" } }
const namespaces = ["billing", "team-a", "team-b"]
const filter = { namespaces: ["billing", "team-*"] }
const count = 600
/** Slow enough that the kill comes in the middle. */
const perSecond = 150

// biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
const post = async (url: string, path: string, body: unknown): Promise<any> => {
  const response = await fetch(`${url}/api/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  expect([path, response.status, text]).toEqual([path, 200, text])
  return JSON.parse(text)
}

const deadIn = async (url: string): Promise<number> =>
  (await post(url, "timers/count", { ...filter, state: "dead" })).count

const untilDead = (url: string) =>
  eventually("all are dead", async () => ((await deadIn(url)) === count ? true : undefined))

/** Dead letters in three namespaces. */
const kill = async (url: string, receiver: Receiver): Promise<void> => {
  const timers = Array.from({ length: count }, (_, n) => ({
    namespace: namespaces[n % namespaces.length],
    timerId: `t-${n}`,
    delay: "0s",
    callbackUrl: receiver.url,
  }))
  await post(url, "timers/createMany", { timers })
  await untilDead(url)
}

const start = async (url: string): Promise<string> => {
  const asked = { do: "replay", filter, reason: "the receiver works again", expect: count, perSecond }
  return (await post(url, "bulk/start", asked)).job.jobId
}

const jobAt = async (url: string, jobId: string) => (await post(url, "bulk/get", { jobId })).job

const untilHalfDone = (url: string, jobId: string) =>
  eventually("the job is in the middle", async () => {
    const { examined } = await jobAt(url, jobId)
    return examined >= count / 3 ? true : undefined
  })

const ended = (url: string, jobId: string) =>
  eventually(
    "the job has ended",
    async () => {
      const job = await jobAt(url, jobId)
      return job.state === "running" ? undefined : job
    },
    60_000,
  )

/** Each timer fired in its first life, and once more after its replay. A repeated attempt has the same fireId. */
const expectOneReplayEach = (receiver: Receiver): void => {
  const fireIds = new Map<string, Set<string>>()
  for (const { key, fireId } of receiver.deliveries) {
    const known = fireIds.get(key.timerId) ?? new Set()
    fireIds.set(key.timerId, known.add(fireId))
  }
  const sizes = [...fireIds.values()].map(({ size }) => size)
  expect([sizes.length, sizes.filter((size) => size !== 2)]).toEqual([count, []])
}

test("a job goes on after the service was killed and started again, and replays nothing twice", async () => {
  await using run = await ProcessRun.start({ reply: () => gone })
  const { service, receiver } = run
  await kill(service.url, receiver)
  const jobId = await start(service.url)
  await untilHalfDone(service.url, jobId)
  const before = await jobAt(service.url, jobId)
  await service.kill9()
  await service.start()
  const job = await ended(service.url, jobId)
  expect(job).toMatchObject({
    state: "done",
    reason: "the receiver works again",
    startedAt: before.startedAt,
  })
  expect(job.done.replayed).toBeGreaterThanOrEqual(before.done.replayed)
  // What the service did in the second before the kill may be missing in the counts.
  expect(job.done.replayed).toBeGreaterThanOrEqual(count - 2 * perSecond)
  expect(job.done.replayed).toBeLessThanOrEqual(count)
  await untilDead(service.url)
  expectOneReplayEach(receiver)
  expect(await service.terminate()).toBe(0)
}, 120_000)

describePostgres("installed", "in a cluster of three", () => {
  test("another node goes on with a job whose node was killed, and every node can show and abort jobs", async () => {
    await using cluster = await ClusterHarness.start({ reply: () => gone })
    const { receiver } = cluster
    const ownerOfFirst = async () => (await cluster.leases()).find(({ shard }) => shard === 0)?.node
    const runner = await ownerOfFirst()
    const others = cluster.nodes.filter(({ name }) => name !== runner)
    const [asked, other] = others
    const killed = cluster.nodes.find(({ name }) => name === runner)
    if (asked === undefined || other === undefined || killed === undefined) throw new Error("no such nodes")

    await kill(asked.url, receiver)
    const jobId = await start(asked.url)
    await untilHalfDone(other.url, jobId)
    expect((await jobAt(other.url, jobId)).state).toBe("running")
    await killed.kill()
    const job = await ended(asked.url, jobId)
    expect(job).toMatchObject({ state: "done", done: { skipped: 0 } })
    expect(job.done.replayed).toBeGreaterThanOrEqual(count - 2 * perSecond)
    expect(job.done.replayed).toBeLessThanOrEqual(count)
    expect(await ownerOfFirst()).not.toBe(runner)
    await untilDead(asked.url)
    expectOneReplayEach(receiver)

    // One of the two nodes does not run the job, and its abort stops the job on the other.
    const discard = { do: "discard", filter, reason: "test", expect: count, perSecond: 50 }
    for (const { url } of others) {
      const { job: started } = await post(url, "bulk/start", discard)
      const { job: aborted } = await post(url, "bulk/abort", { jobId: started.jobId })
      expect(aborted.state).toBe("aborted")
    }
    const left = await eventually("no job goes on", async () => {
      const { jobs } = await post(other.url, "bulk/list", {})
      const discarded = jobs.reduce(
        (sum: number, listed: { done: { discarded?: number } }) => sum + (listed.done.discarded ?? 0),
        0,
      )
      const dead = await deadIn(other.url)
      return dead + discarded === count ? dead : undefined
    })
    expect(left).toBeGreaterThan(count - 100)
    expect((await post(asked.url, "audit/list", { action: "bulk" })).records.length).toBeGreaterThanOrEqual(6)
  }, 180_000)
})
