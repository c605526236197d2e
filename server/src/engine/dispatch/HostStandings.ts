// What the last attempt showed about a host, for each namespace. It is kept after the last attempt of the host has ended.
// The number of hosts is limited in all and for each namespace. At a limit the host that was used longest ago is
// forgotten, and its next attempt is a trial again.

/**
 * `answers`: the host reacted promptly to the last attempt, and has taken an attempt. `fails`: it reacts promptly, but has
 * only refused attempts or answered with failures. `silent`: it did not answer for a long time. `unknown`: it has had no attempt yet, or the last attempt had a short timeout and the host did not answer within it.
 */
export type Standing = "answers" | "fails" | "silent" | "unknown"

export class HostStandings {
  readonly #maxHosts: number
  readonly #maxPerNamespace: number
  /** The order of both maps is the order of the last use. */
  readonly #namespaces = new Map<string, Map<string, Standing>>()
  #size = 0

  constructor(maxHosts = 10_000, maxPerNamespace = 1_000) {
    this.#maxHosts = maxHosts
    this.#maxPerNamespace = maxPerNamespace
  }

  get size(): number {
    return this.#size
  }

  /** Whether a host of the namespace answers. */
  knows(namespace: string): boolean {
    for (const standing of this.#namespaces.get(namespace)?.values() ?? [])
      if (standing === "answers") return true
    return false
  }

  of(namespace: string, host: string): Standing {
    const standing = this.#namespaces.get(namespace)?.get(host)
    if (standing === undefined) return "unknown"
    this.note(namespace, host, standing)
    return standing
  }

  note(namespace: string, host: string, standing: Standing): void {
    const hosts = this.#namespaces.get(namespace) ?? new Map<string, Standing>()
    if (hosts.delete(host)) this.#size--
    this.#namespaces.delete(namespace)
    if (standing !== "unknown") {
      hosts.set(host, standing)
      this.#size++
    }
    if (hosts.size > this.#maxPerNamespace) this.#forgetOldest(hosts)
    if (hosts.size > 0) this.#namespaces.set(namespace, hosts)
    if (this.#size > this.#maxHosts) this.#forgetOldestOfAll()
  }

  #forgetOldestOfAll(): void {
    const [first] = this.#namespaces
    if (first === undefined) return
    const [namespace, hosts] = first
    this.#forgetOldest(hosts)
    if (hosts.size === 0) this.#namespaces.delete(namespace)
  }

  #forgetOldest(hosts: Map<string, Standing>): void {
    const [oldest] = hosts.keys()
    if (oldest !== undefined && hosts.delete(oldest)) this.#size--
  }
}
