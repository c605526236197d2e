// The calls of operators for a program with Punctual inside it: settings of namespaces, the pause of all firing, breakers
// of failing hosts, and the egress rules.
import type {
  Answers,
  BreakerReset,
  CallName,
  EgressQuestion,
  NamespaceName,
  NamespaceQuery,
  NamespaceTerms,
  ServicePauseRequest,
  ServiceResumeRequest,
} from "./Requests.ts"

export interface NamespacesOfProgram {
  /** A field that is left out stays as it is. null sets it back to its default. */
  put(terms: NamespaceTerms): Promise<Answers["namespaces.put"]>
  get(name: NamespaceName): Promise<Answers["namespaces.get"]>
  list(query?: NamespaceQuery): Promise<Answers["namespaces.list"]>
  /** New timers are accepted and wait. The time of the pause does not count against expireAfter and maxDuration. */
  pause(name: NamespaceName): Promise<Answers["namespaces.put"]>
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

export interface OperatorCalls {
  readonly namespaces: NamespacesOfProgram
  readonly service: ServiceOfProgram
  readonly breakers: BreakersOfProgram
  readonly egress: EgressOfProgram
}

type Ask = <Name extends CallName>(name: Name, request: unknown) => Promise<Answers[Name]>

export const operatorCalls = (ask: Ask): OperatorCalls => ({
  namespaces: {
    put: (terms) => ask("namespaces.put", terms),
    get: (name) => ask("namespaces.get", name),
    list: (query = {}) => ask("namespaces.list", query),
    pause: (name) => ask("namespaces.put", { ...name, paused: true }),
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
})
