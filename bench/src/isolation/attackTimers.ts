// Attacks with timers: their endpoints hang, or their names resolve late. Every request is valid.

import type { Tally } from "../Tally.ts"
import type { AttackTerms } from "./AttackTerms.ts"
import { largeNamespace } from "./attackConnections.ts"
import type { HangingEndpoints } from "./HangingEndpoints.ts"

const perCall = 1_000
const namesAgainAfterMs = 2_000
const newEveryMs = 100
/** Nothing listens there. */
const refusing = "http://127.66.0.1:9/"

/** All names at once, and all of them again every two seconds. */
export const createSlowNames = (url: string, names: number, tally: Tally): void => {
  let round = 0
  const create = () => {
    const now = round++
    void createAll(
      url,
      Array.from({ length: names }, (_, index) => ({
        ...hangingTimer("slow-names", `http://slow-${index}.test:9/`),
        timerId: `${now}-${index}`,
      })),
      tally,
    )
  }
  create()
  setInterval(create, namesAgainAfterMs)
}

/** One namespace for each endpoint. `newPerSecond` adds as many new namespaces and endpoints each second. */
export const createHanging = (
  url: string,
  endpoints: HangingEndpoints,
  { namespaces, newPerSecond, timeout }: Extract<AttackTerms, { readonly kind: "hangingEndpoints" }>,
  tally: Tally,
): void => {
  let made = 0
  const create = (count: number) =>
    void createAll(
      url,
      Array.from({ length: count }, () => hangingTimer(`hanging-${made++}`, endpoints.open(), timeout)),
      tally,
    )
  create(namespaces)
  if (newPerSecond > 0) setInterval(create, newEveryMs, Math.ceil((newPerSecond * newEveryMs) / 1_000))
}

/** Resolves when all of them are stored. */
export const createBacklog = async (
  url: string,
  endpoints: HangingEndpoints,
  timers: number,
  tally: Tally,
): Promise<void> => {
  const endpoint = endpoints.open()
  const executeAt = new Date(Date.now() - 3_600_000).toISOString()
  for (let created = 0; created < timers; created += perCall) {
    await createAll(
      url,
      Array.from({ length: Math.min(perCall, timers - created) }, () => ({
        namespace: "hog",
        executeAt,
        callbackUrl: endpoint,
      })),
      tally,
    )
  }
}

/** One timer in each of many new namespaces. Resolves when all of them are stored. */
export const createCrowd = async (
  url: string,
  namespaces: number,
  dueAtMs: number,
  tally: Tally,
): Promise<void> => {
  const executeAt = new Date(dueAtMs).toISOString()
  for (let created = 0; created < namespaces; created += perCall) {
    await createAll(
      url,
      Array.from({ length: Math.min(perCall, namespaces - created) }, (_, index) => ({
        namespace: `crowd-${created + index}`,
        executeAt,
        callbackUrl: refusing,
      })),
      tally,
    )
  }
}

/** Timers with large payloads that fire at once, for an endpoint that arms each of them again. */
export const createRearming = async (
  url: string,
  callbackUrl: string,
  { timers, payloadBytes }: Extract<AttackTerms, { readonly kind: "rearms" }>,
  tally: Tally,
): Promise<void> => {
  const rearmingPerCall = 10
  const payload = "x".repeat(payloadBytes)
  for (let created = 0; created < timers; created += rearmingPerCall) {
    const each = { namespace: "rearming", delay: "0s", callbackUrl, payload }
    await createAll(
      url,
      Array.from({ length: Math.min(rearmingPerCall, timers - created) }, () => each),
      tally,
    )
  }
}

/** Timers with about 18 KB of headers each, due tomorrow. Resolves when all of them are stored. */
export const createLarge = async (url: string, timers: number, tally: Tally): Promise<void> => {
  const largePerCall = 100
  for (let created = 0; created < timers; created += largePerCall) {
    const largeTimer = (_: unknown, index: number) => {
      const value = `${created + index}`.padEnd(250, "v")
      const headers = Object.fromEntries(Array.from({ length: 30 }, (_, number) => [`x-${number}`, value]))
      const target = { type: "webhook", url: "http://127.0.0.1:9/", headers }
      return { namespace: largeNamespace, delay: "24h", target, onDead: target }
    }
    await createAll(url, Array.from({ length: Math.min(largePerCall, timers - created) }, largeTimer), tally)
  }
}

/** By default with the longest time-out that the service allows, so that the attempt holds its slot as long as possible. */
const hangingTimer = (namespace: string, url: string, timeout = "300s"): object => ({
  namespace,
  delay: "0s",
  target: { type: "webhook", url, timeout },
})

const createAll = async (url: string, timers: ReadonlyArray<object>, tally: Tally): Promise<void> => {
  try {
    const response = await fetch(`${url}/api/v1/timers/createMany`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ timers }),
    })
    await response.arrayBuffer()
    tally.add(response.status)
  } catch {
    tally.add("closed")
  }
}
