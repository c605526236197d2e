// The calls of operators for a program with Punctual inside it: settings of namespaces, the pause of all firing, breakers
// of failing hosts, the egress rules, jobs on many timers, and the audit trail.
import type {
  Answers,
  AuditQuestion,
  BreakerReset,
  BulkName,
  BulkQuery,
  CallName,
  EgressQuestion,
  NamespaceName,
  NamespacePause,
  NamespaceQuery,
  NamespaceTerms,
  NewBulk,
  ServicePauseRequest,
  ServiceResumeRequest,
} from "./Requests.ts"

export interface NamespacesOfProgram {
  /** A field that is left out stays as it is. null sets it back to its default. */
  put(terms: NamespaceTerms): Promise<Answers["namespaces.put"]>
  get(name: NamespaceName): Promise<Answers["namespaces.get"]>
  list(query?: NamespaceQuery): Promise<Answers["namespaces.list"]>
  /** New timers are accepted and wait. The time of the pause does not count against expireAfter and maxDuration. */
  pause(pause: NamespacePause): Promise<Answers["namespaces.put"]>
  resume(name: NamespaceName): Promise<Answers["namespaces.put"]>
}

export interface ServiceOfProgram {
  /** The time of the service, and whether all firing is paused. */
  get(): Promise<Answers["service.get"]>
  /** Stops all firing until `resume`, also over restarts of the program. */
  pause(request?: ServicePauseRequest): Promise<Answers["service.pause"]>
  resume(request?: ServiceResumeRequest): Promise<Answers["service.resume"]>
}

export interface BreakersOfProgram {
  list(): Promise<Answers["breakers.list"]>
  /** Timers that wait for the host start at once. */
  reset(request: BreakerReset): Promise<Answers["breakers.reset"]>
}

export interface EgressOfProgram {
  /** Whether webhooks may reach a URL, and why. Sends no request to it. */
  check(question: EgressQuestion): Promise<Answers["egress.check"]>
}

export interface AuditOfProgram {
  /** What operators and this program did, newest first. Send the `nextCursor` of the answer as `cursor`. */
  list(question?: AuditQuestion): Promise<Answers["audit.list"]>
}

export interface BulkOfProgram {
  /** Count the timers first, with the same filter. The job goes on if the program is opened again. */
  start(job: NewBulk): Promise<Answers["bulk.start"]>
  get(name: BulkName): Promise<Answers["bulk.get"]>
  /** Newest first. Send the `nextCursor` of the answer as `cursor`. */
  list(query?: BulkQuery): Promise<Answers["bulk.list"]>
  /** What the job has done stays done. */
  abort(name: BulkName): Promise<Answers["bulk.abort"]>
}

export interface OperatorCalls {
  readonly namespaces: NamespacesOfProgram
  readonly service: ServiceOfProgram
  readonly breakers: BreakersOfProgram
  readonly egress: EgressOfProgram
  readonly audit: AuditOfProgram
  readonly bulk: BulkOfProgram
}

type Ask = <Name extends CallName>(name: Name, request: unknown) => Promise<Answers[Name]>

export const operatorCalls = (ask: Ask): OperatorCalls => ({
  namespaces: {
    put: (terms) => ask("namespaces.put", terms),
    get: (name) => ask("namespaces.get", name),
    list: (query = {}) => ask("namespaces.list", query),
    pause: (pause) => ask("namespaces.put", { ...pause, paused: true }),
    resume: (name) => ask("namespaces.put", { ...name, paused: false }),
  },
  service: {
    get: () => ask("service.get", {}),
    pause: (request = {}) => ask("service.pause", request),
    resume: (request = {}) => ask("service.resume", request),
  },
  breakers: {
    list: () => ask("breakers.list", {}),
    reset: (request) => ask("breakers.reset", request),
  },
  egress: { check: (question) => ask("egress.check", question) },
  audit: { list: (question = {}) => ask("audit.list", question) },
  bulk: {
    start: (job) => ask("bulk.start", job),
    get: (name) => ask("bulk.get", name),
    list: (query = {}) => ask("bulk.list", query),
    abort: (name) => ask("bulk.abort", name),
  },
})
