// The order in which namespaces start attempts. Namespaces take turns, and those that are known alternate with new ones.
// Otherwise a caller could make tens of thousands of namespaces with one due timer each, and the next timer of every
// other namespace would wait until all of them had a turn.
import type { NamespaceQueue } from "./DispatchQueues.ts"

export class NamespaceTurns implements Iterable<NamespaceQueue> {
  readonly #known = new Set<NamespaceQueue>()
  readonly #new = new Set<NamespaceQueue>()
  #isNewNext = false

  /** After this many turns every namespace has had one, if none has left or come. */
  get roundTurns(): number {
    const [known, fresh] = [this.#known.size, this.#new.size]
    return known === 0 || fresh === 0 ? known + fresh : 2 * Math.max(known, fresh)
  }

  /** The namespace gets its turn after the others of its kind. If it has a turn already, it keeps its place. */
  add(namespace: NamespaceQueue): void {
    if (!namespace.isKnown) this.#new.add(namespace)
    else if (!this.#new.has(namespace)) this.#known.add(namespace)
  }

  delete(namespace: NamespaceQueue): void {
    this.#known.delete(namespace)
    this.#new.delete(namespace)
  }

  /** Takes the next namespace out. */
  take(): NamespaceQueue | undefined {
    const isNew = this.#new.size > 0 && (this.#isNewNext || this.#known.size === 0)
    this.#isNewNext = !isNew
    const [namespace] = isNew ? this.#new : this.#known
    if (namespace !== undefined) this.delete(namespace)
    return namespace
  }

  *[Symbol.iterator](): Iterator<NamespaceQueue> {
    yield* this.#known
    yield* this.#new
  }
}
