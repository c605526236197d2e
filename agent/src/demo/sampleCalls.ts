// The calls with which `punctual agent --demo` begins: to each of its targets, now and later. A store that has calls of
// the demo's tenant gets no more.
import { Effect } from "effect"
import type { NewServiceCall, ServiceCalls } from "../calls/ServiceCalls.ts"

export const demoTenant = "demo"

const perKind = [
  { path: "/echo", name: "Send invoice", tags: ["invoice"], method: "POST", count: 12 },
  { path: "/slow", name: "Build report", tags: ["report"], method: "GET", count: 6 },
  { path: "/failing", name: "Charge card", tags: ["payment"], method: "POST", count: 5 },
  { path: "/flaky", name: "Sync contact", tags: ["crm", "sync"], method: "PUT", count: 7 },
] as const

/** Every third call is due later: some within a minute, some in hours. */
const laterMs = [15_000, 60_000, 3_600_000, 86_400_000]

export const sampleCalls = (targetsUrl: string, nowMs: number): ReadonlyArray<NewServiceCall> =>
  perKind
    .flatMap((kind) => Array.from({ length: kind.count }, (_, index) => ({ ...kind, number: index + 1 })))
    .map(({ path, name, tags, method, number }, index) => ({
      tenantId: demoTenant,
      name: `${name} ${number}`,
      tags: [...tags],
      request: {
        method,
        url: `${targetsUrl}${path}?number=${number}`,
        ...(method === "GET"
          ? {}
          : {
              headers: { "content-type": "application/json", authorization: "Bearer demo-secret" },
              body: JSON.stringify({ number }),
            }),
      },
      ...(index % 3 === 2 ? { dueAt: nowMs + (laterMs[(index / 3) & 3] ?? 0) } : {}),
    }))

/** How many calls it submitted. */
export const submitSamples = (
  calls: ServiceCalls["Service"],
  targetsUrl: string,
  nowMs: number,
): Effect.Effect<number, { readonly message: string }> =>
  Effect.gen(function* () {
    const { counts } = yield* calls.counts(demoTenant, {})
    if (Object.values(counts).some((count) => count > 0)) return 0
    const samples = sampleCalls(targetsUrl, nowMs)
    yield* Effect.forEach(samples, (sample) => calls.submit(sample), { concurrency: 8, discard: true })
    return samples.length
  })
