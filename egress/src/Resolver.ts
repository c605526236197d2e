// Resolves the host names of URLs that users gave. A name server can be slow or silent, and any tenant can choose the name. So this
// file limits how many lookups a namespace may have at once, gives each lookup a timeout, and caches answers and failures
// for each namespace. docs/adr/0055 explains the limits.
import { formatDuration } from "@punctual/api/DurationMs"
import { isLocalhost, loopbackAddresses } from "./isLocalhost.ts"
import { Lookups, type QueuedLookup } from "./Lookups.ts"
import { type Addresses, type NameLookup, systemLookup } from "./systemLookup.ts"

/** All addresses of a name, in the order to try them. Rejects if there are none. Synchronous if they are cached. */
export type Resolve = (host: string, namespace: string) => Addresses | Promise<Addresses>

export interface ResolverOptions {
  readonly lookup: NameLookup
  /** How many lookups a namespace may have at once, including those that nobody waits for any more. */
  readonly maxPerNamespace: number
  /** How long an attempt waits for a lookup. */
  readonly timeoutMs: number
  /** How many lookups all namespaces together may have at once. */
  readonly maxLookups: number
  /** An answer is used without a new lookup for this long. */
  readonly freshMs: number
  /** After this time an answer is not used. Between `freshMs` and `staleMs` it is used, and a lookup renews it. */
  readonly staleMs: number
  /** A failed lookup is not repeated for this long. */
  readonly failureMs: number
  readonly maxHosts: number
  readonly maxHostsPerNamespace: number
  /** Monotonic. */
  readonly nowMs: () => number
}

export const defaultResolverOptions: ResolverOptions = {
  lookup: systemLookup,
  maxPerNamespace: 16,
  timeoutMs: 3_000,
  maxLookups: 4_096,
  freshMs: 10_000,
  staleMs: 60_000,
  failureMs: 2_000,
  maxHosts: 10_000,
  maxHostsPerNamespace: 1_000,
  nowMs: () => performance.now(),
}

/** The name did not resolve in time. */
export class LookupTimeout extends Error {
  readonly code = "ELOOKUPTIMEOUT"
  /** If not, other lookups of the namespace are slow, and nothing is known about the name. */
  readonly hasStarted: boolean

  constructor(timeoutMs: number, hasStarted: boolean) {
    const within = `it did not resolve within ${formatDuration(timeoutMs)}`
    super(hasStarted ? within : `${within}, because other lookups of the namespace are slow`)
    this.hasStarted = hasStarted
  }
}

interface Answer {
  readonly addresses: Addresses
  readonly at: number
}

interface Failure {
  readonly error: unknown
  readonly at: number
}

/** What is known about a name in a namespace. */
interface Known {
  answer: Answer | undefined
  failure: Failure | undefined
  /** The lookup that waits or runs. */
  lookup: QueuedLookup<Addresses> | undefined
  hasStarted: boolean
  /** How many attempts wait for the lookup. */
  waiters: number
}

export class Resolver {
  readonly #options: ResolverOptions
  readonly #lookups: Lookups
  /** The namespaces are in the order of their last use, and the hosts of a namespace in the order in which they came. */
  readonly #namespaces = new Map<string, Map<string, Known>>()
  #hostCount = 0

  constructor(options: Partial<ResolverOptions> = {}) {
    this.#options = { ...defaultResolverOptions, ...options }
    this.#lookups = new Lookups(this.#options)
  }

  /** How many lookups run, including those that nobody waits for any more. */
  get running(): number {
    return this.#lookups.running
  }

  /** How many lookups wait for room. */
  get waiting(): number {
    return this.#lookups.waiting
  }

  get hostCount(): number {
    return this.#hostCount
  }

  readonly resolve: Resolve = (host, namespace) => {
    const { freshMs, staleMs, failureMs, nowMs } = this.#options
    if (isLocalhost(host)) return loopbackAddresses
    const now = nowMs()
    const known = this.#use(namespace)?.get(host) ?? this.#add(host, namespace)
    const { answer, failure } = known
    const ageMs = answer === undefined ? Number.POSITIVE_INFINITY : now - answer.at
    const hasFailed = failure !== undefined && now - failure.at < failureMs
    if (answer !== undefined && ageMs < staleMs) {
      const isDue = ageMs >= freshMs && !hasFailed && known.lookup === undefined
      if (isDue && this.#lookups.hasRoom(namespace)) this.#lookUp(host, namespace, known)
      return answer.addresses
    }
    if (hasFailed) return Promise.reject(failure.error)
    return this.#inTime(known, known.lookup ?? this.#lookUp(host, namespace, known))
  }

  /** The hosts of the namespace, which becomes the one that was used last. */
  #use(namespace: string): Map<string, Known> | undefined {
    const hosts = this.#namespaces.get(namespace)
    if (hosts === undefined) return undefined
    this.#namespaces.delete(namespace)
    this.#namespaces.set(namespace, hosts)
    return hosts
  }

  #lookUp(host: string, namespace: string, known: Known): QueuedLookup<Addresses> {
    const { lookup, nowMs } = this.#options
    known.hasStarted = false
    const queuedAt = nowMs()
    const queued = this.#lookups.run(namespace, () => {
      known.hasStarted = true
      return lookup(host)
    })
    known.lookup = queued
    // A late answer is kept too, although nobody waits for it.
    queued.promise.then(
      (addresses) => {
        known.lookup = undefined
        known.failure = undefined
        known.answer = { addresses, at: nowMs() }
      },
      (error: unknown) => {
        known.lookup = undefined
        // If an attempt has already stopped waiting, the time of that failure counts, and so does its text.
        if (known.failure === undefined || known.failure.at < queuedAt) known.failure = { error, at: nowMs() }
      },
    )
    return queued
  }

  /**
   * The wait for a free place counts too. A lookup that runs cannot be stopped, so it keeps its place until it ends. A
   * lookup that nobody waits for any more does not start.
   */
  #inTime(known: Known, { promise, leave }: QueuedLookup<Addresses>): Promise<Addresses> {
    const { timeoutMs, nowMs } = this.#options
    known.waiters++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        isWaiting = false
        known.waiters--
        const error = new LookupTimeout(timeoutMs, known.hasStarted)
        if (known.hasStarted) known.failure = { error, at: nowMs() }
        else if (known.waiters === 0) {
          leave()
          known.lookup = undefined
        }
        reject(error)
      }, timeoutMs)
      let isWaiting = true
      const end = () => {
        if (isWaiting) known.waiters--
        clearTimeout(timer)
      }
      promise.finally(end).then(resolve, reject)
    })
  }

  #add(host: string, namespace: string): Known {
    const { maxHosts, maxHostsPerNamespace } = this.#options
    let hosts = this.#namespaces.get(namespace)
    if (hosts !== undefined && hosts.size >= maxHostsPerNamespace) this.#forgetOldest(namespace, hosts)
    else if (this.#hostCount >= maxHosts) this.#forgetOldestOfAll()
    hosts = this.#namespaces.get(namespace)
    if (hosts === undefined) {
      hosts = new Map()
      this.#namespaces.set(namespace, hosts)
    }
    const known: Known = {
      answer: undefined,
      failure: undefined,
      lookup: undefined,
      hasStarted: false,
      waiters: 0,
    }
    hosts.set(host, known)
    this.#hostCount++
    return known
  }

  /** The namespace that was used longest ago gives up a host. */
  #forgetOldestOfAll(): void {
    const [first] = this.#namespaces
    if (first !== undefined) this.#forgetOldest(...first)
  }

  #forgetOldest(namespace: string, hosts: Map<string, Known>): void {
    const [oldest] = hosts.keys()
    if (oldest !== undefined && hosts.delete(oldest)) this.#hostCount--
    if (hosts.size === 0) this.#namespaces.delete(namespace)
  }
}
