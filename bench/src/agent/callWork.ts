// The work of the benchmark Agent, the same for every system: calls of several tenants to a service on loopback. First
// calls that are due much later, then calls for now, both as fast as the system takes them, and then calls for now at an
// even rate, of which every delay is measured.
import { randomUUID } from "node:crypto"
import { CallEventReader } from "@punctual/agent/testkit/CallEventReader"
import { eventually } from "@punctual/server/testkit/eventually"
import { httpLoad } from "../HttpLoad.ts"
import type { Receiver } from "../Receiver.ts"
import { samplePayload } from "../samplePayload.ts"
import { farAhead } from "../work.ts"

export interface CallWork {
  /** The root of the system's HTTP server. */
  readonly url: string
  readonly receiver: Receiver
  readonly submits: number
  readonly nows: number
  readonly perSecond: number
  readonly seconds: number
  /** Whether the system has the agent's API, with lists and streams of changes. */
  readonly isAgent: boolean
}

export interface CallFigures {
  readonly submitsPerSecond: number
  /** Calls for now, from the first submit until the service has received the last. */
  readonly nowsPerSecond: number
  /** From the request to its 202. */
  readonly submitMs: ReadonlyArray<number>
  /** From the 202 to the request at the service. Negative if the request came first. */
  readonly arrivalMs: ReadonlyArray<number>
  /** From a change of a call to its event at an open stream. */
  readonly eventMs: ReadonlyArray<number>
}

const tenants = 20
const tenantsWithStream = 5
const connections = 64
const withinMs = 300_000

export const doCallWork = async (work: CallWork): Promise<CallFigures> => {
  const { url, receiver, submits, nows, isAgent } = work
  // An accepted call goes on in the background. A part begins when the part before has no more work there.
  const settled = (): Promise<void> => (isAgent ? untilIdle(url) : Promise.resolve())
  // The warm-up does not count.
  await submitAll(url, Math.ceil(submits / 5), farBody(receiver))
  const submitsPerSecond = await submitAll(url, submits, farBody(receiver))
  await settled()
  await makeAll(url, receiver, Math.ceil(nows / 5))
  const nowsPerSecond = await makeAll(url, receiver, nows)
  await settled()
  await receiver.forget()
  return { submitsPerSecond, nowsPerSecond, ...(await paced(work)) }
}

const pathOf = (index: number): string => `/api/v1/tenants/tenant-${index % tenants}/service-calls`

const bodyOf = (id: string, url: string, dueAt?: number): string =>
  JSON.stringify({
    serviceCallId: id,
    request: { method: "POST", url, body: { timerId: id, ...samplePayload } },
    ...(dueAt === undefined ? {} : { dueAt: new Date(dueAt).toISOString() }),
  })

const farBody = (receiver: Receiver) => () => bodyOf(randomUUID(), receiver.plainUrl, farAhead())

const submitAll = (url: string, requests: number, body: () => string): Promise<number> =>
  httpLoad({ url, connections, requests, path: pathOf, status: 202, body, withinMs })

const makeAll = async (url: string, receiver: Receiver, calls: number): Promise<number> => {
  await receiver.forget()
  const startedAt = performance.now()
  await submitAll(url, calls, () => bodyOf(randomUUID(), receiver.plainUrl))
  await receiver.delivered(calls, withinMs)
  return (calls / (performance.now() - startedAt)) * 1_000
}

/** Calls for later are scheduled, and the outcomes of calls for now are stored. */
const untilIdle = async (url: string): Promise<void> => {
  for (let tenant = 0; tenant < tenants; tenant++) {
    await eventually(
      `tenant ${tenant} has no open calls but those of later`,
      async () => {
        const response = await fetch(`${url}${pathOf(tenant)}?status=Submitted,Running&limit=1`)
        const { calls } = (await response.json()) as { readonly calls: ReadonlyArray<unknown> }
        return calls.length === 0 ? true : undefined
      },
      withinMs,
    )
  }
}

const nowMs = (): number => performance.timeOrigin + performance.now()

const paced = async (work: CallWork): Promise<Pick<CallFigures, "submitMs" | "arrivalMs" | "eventMs">> => {
  const { url, receiver, perSecond, seconds, isAgent } = work
  using streams = new DisposableStack()
  const readers: Array<CallEventReader> = []
  for (let tenant = 0; isAgent && tenant < tenantsWithStream; tenant++) {
    readers.push(streams.use(await CallEventReader.open(`${url}/api/v1/tenants/tenant-${tenant}/events`)))
  }
  const acceptedAt = new Map<string, number>()
  const submitMs: Array<number> = []
  const submitOne = async (index: number): Promise<void> => {
    const id = randomUUID()
    const sentAt = nowMs()
    const response = await fetch(`${url}${pathOf(index)}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: bodyOf(id, receiver.recordingUrl()),
      signal: AbortSignal.timeout(withinMs),
    })
    acceptedAt.set(id, nowMs())
    submitMs.push(nowMs() - sentAt)
    if (response.status !== 202) throw new Error(`answered ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
  }
  await atRate(perSecond, perSecond * seconds, submitOne)
  await receiver.delivered(perSecond * seconds, withinMs)
  const arrivals = await receiver.arrivals()
  return {
    submitMs,
    arrivalMs: arrivals.map(([id, receivedAtMs]) => receivedAtMs - (acceptedAt.get(id) ?? Number.NaN)),
    eventMs: readers.flatMap((reader) => firstDelays(reader, acceptedAt)),
  }
}

/**
 * Of the calls that were submitted at the even rate. Streams repeat events now and then, so only the first event of each
 * version counts.
 */
const firstDelays = (
  { all }: CallEventReader,
  submitted: ReadonlyMap<string, unknown>,
): ReadonlyArray<number> => {
  const seen = new Set<string>()
  return all.flatMap(({ event, data, receivedAtMs }) => {
    const change = `${data.call?.serviceCallId} ${data.call?.version}`
    if (event !== "call" || !submitted.has(data.call.serviceCallId) || seen.has(change)) return []
    seen.add(change)
    return [receivedAtMs - Date.parse(data.at)]
  })
}

/** Starts each at its own time, however long the others take. */
const atRate = async (
  perSecond: number,
  times: number,
  act: (index: number) => Promise<void>,
): Promise<void> => {
  const startedAt = performance.now()
  const running: Array<Promise<void>> = []
  for (let index = 0; index < times; index++) {
    const waitMs = startedAt + (index * 1_000) / perSecond - performance.now()
    if (waitMs > 0) await Bun.sleep(waitMs)
    running.push(act(index))
  }
  await Promise.all(running)
}
