// Checks the promises of the agent after a run: what users were told, what the store says in the end, and what the
// targets saw. Every call ends in exactly one final state. A target saw each attempt at most once, and exactly once if
// the call succeeded. No request came before its due time, and no tenant saw anything of another.
import { finalStates, type ServiceCall, type TimelineEntry } from "../src/domain/ServiceCall.ts"

export interface SubmittedCall {
  readonly tenantId: string
  readonly serviceCallId: string
  /** Absent if the call was for now. */
  readonly dueAt?: number
}

/** A request that a target received. */
export interface SeenRequest {
  /** From the body, which the test wrote when it submitted the call. */
  readonly tenantId: string
  readonly serviceCallId: string
  /** The header Idempotency-Key. */
  readonly attemptId: string
  readonly at: number
}

/** What the check needs of a call, so that it can come from the domain or from the API. */
export interface EndedCall {
  readonly call: Pick<ServiceCall, "tenantId" | "serviceCallId" | "state" | "attemptId" | "error">
  readonly timeline: ReadonlyArray<Pick<TimelineEntry, "version" | "what" | "state">>
}

export interface CallRun {
  readonly submitted: ReadonlyArray<SubmittedCall>
  /** What the store has in the end, by tenant as the list of that tenant shows it. */
  readonly ended: ReadonlyMap<string, ReadonlyArray<EndedCall>>
  readonly seen: ReadonlyArray<SeenRequest>
}

/** What is wrong, one sentence each; empty if every promise was kept. */
export const brokenPromises = ({ submitted, ended, seen }: CallRun): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const calls = new Map<string, EndedCall>()
  for (const [tenantId, list] of ended) {
    for (const one of list) {
      if (one.call.tenantId !== tenantId) problems.push(`${tenantId} sees a call of ${one.call.tenantId}`)
      const name = nameOf(one.call)
      if (calls.has(name)) problems.push(`${name} is listed twice`)
      calls.set(name, one)
    }
  }
  const requests = Map.groupBy(seen, nameOf)
  const known = new Set(submitted.map(nameOf))
  for (const name of [...calls.keys(), ...requests.keys()]) {
    if (!known.has(name)) problems.push(`${name} was never submitted`)
  }
  for (const asked of submitted) {
    const one = calls.get(nameOf(asked))
    if (one === undefined) problems.push(`${nameOf(asked)} is lost`)
    else problems.push(...problemsOf(asked, one, requests.get(nameOf(asked)) ?? []))
  }
  return problems.map((problem) => `broken promise: ${problem}`)
}

const nameOf = ({ tenantId, serviceCallId }: Pick<SubmittedCall, "tenantId" | "serviceCallId">): string =>
  `${tenantId}/${serviceCallId}`

const problemsOf = (
  asked: SubmittedCall,
  { call, timeline }: EndedCall,
  requests: ReadonlyArray<SeenRequest>,
): ReadonlyArray<string> => {
  const name = nameOf(asked)
  const problems: Array<string> = []
  const isOver = finalStates.has(call.state)
  if (!isOver) problems.push(`${name} did not end: it is ${call.state}`)
  const ends = timeline.filter(({ state, what }) => finalStates.has(state) && what !== "LateOutcome")
  if (isOver && ends.length !== 1) problems.push(`${name} ended ${ends.length} times`)
  if (requests.length > 1) problems.push(`the target of ${name} saw ${requests.length} requests`)
  const isAnswered = call.state === "Succeeded" || call.error?.kind === "status"
  if (isAnswered && requests.length === 0) problems.push(`${name} has an answer without a request`)
  if (call.state === "Cancelled" && requests.length > 0) problems.push(`${name} was cancelled and called`)
  for (const { attemptId, at } of requests) {
    if (attemptId !== call.attemptId) problems.push(`${name} was called by another attempt`)
    if (asked.dueAt !== undefined && at < asked.dueAt) {
      problems.push(`${name} was called ${asked.dueAt - at} ms before its due time`)
    }
  }
  const versions = timeline.map(({ version }) => version)
  if (versions.some((version, at) => at > 0 && version <= (versions[at - 1] ?? 0))) {
    problems.push(`the timeline of ${name} is not in order`)
  }
  return problems
}
