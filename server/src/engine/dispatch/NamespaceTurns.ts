// The order in which namespaces start attempts. Namespaces take turns, and those that are known alternate with new ones.
// Otherwise a caller could make tens of thousands of namespaces with one due timer each, and the next timer of every
// other namespace would wait until all of them had a turn.
import type { NamespaceQueue } from "./DispatchQueues.ts"

export class NamespaceTurns implements Iterable<NamespaceQueue> {
  readonly #known = new Set<NamespaceQueue>()
  readonly #new = new Set<NamespaceQueue>()
  #isNewNext = false
  /** How many at the ends of both sets have had a turn in this round and could not start. */
  #idleKnown = 0
  #idleNew = 0

  /** Every namespace may have a turn again. */
  beginRound(): void {
    this.#idleKnown = 0
    this.#idleNew = 0
  }

  /** The namespace gets its turn after the others of its kind. If it has a turn already, it keeps its place. */
  add(namespace: NamespaceQueue): void {
    if (this.#isKnown(namespace)) {
      this.#known.add(namespace)
      this.#idleKnown = 0
    } else {
      this.#new.add(namespace)
      this.#idleNew = 0
    }
  }

  /** The namespace had its turn and could not start. It gets none until others of its kind change or a round begins. */
  addIdle(namespace: NamespaceQueue): void {
    if (this.#isKnown(namespace)) {
      this.#known.add(namespace)
      this.#idleKnown++
    } else {
      this.#new.add(namespace)
      this.#idleNew++
    }
  }

  delete(namespace: NamespaceQueue): void {
    this.#known.delete(namespace)
    this.#new.delete(namespace)
  }

  /** Takes the next namespace out. If `mayBeNew` is false, it is a known one. */
  take(mayBeNew: boolean): NamespaceQueue | undefined {
    const hasKnown = this.#idleKnown < this.#known.size
    const isNew = mayBeNew && this.#idleNew < this.#new.size && (this.#isNewNext || !hasKnown)
    if (!isNew && !hasKnown) return undefined
    this.#isNewNext = !isNew
    const [namespace] = isNew ? this.#new : this.#known
    if (namespace !== undefined) this.delete(namespace)
    return namespace
  }

  /** A namespace that became known while it had a turn among the new ones keeps that turn. */
  #isKnown(namespace: NamespaceQueue): boolean {
    return namespace.isKnown && !this.#new.has(namespace)
  }

  *[Symbol.iterator](): Iterator<NamespaceQueue> {
    yield* this.#known
    yield* this.#new
  }
}
