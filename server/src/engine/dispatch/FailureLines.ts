// The log lines about failed attempts and dead timers. A tenant can make thousands of attempts fail in a second, and the
// lines would fill the disk. So there are only some lines in each second, of each namespace and in all, and a last line
// that says so.

/** The most lines in a second. */
const ofNamespaceMost = 20
const linesMost = 200
const secondMs = 1_000

export class FailureLines {
  readonly #ofNamespace = new Map<string, number>()
  #sinceMs = Number.NEGATIVE_INFINITY
  #lines = 0

  /** What to do with the next line of this namespace. `nowMs` is monotonic. */
  next(namespace: string, nowMs: number): "write" | "writeLast" | "leaveOut" {
    if (nowMs - this.#sinceMs >= secondMs) {
      this.#sinceMs = nowMs
      this.#lines = 0
      this.#ofNamespace.clear()
    }
    const own = this.#ofNamespace.get(namespace) ?? 0
    if (this.#lines >= linesMost || own > ofNamespaceMost) return "leaveOut"
    this.#lines++
    this.#ofNamespace.set(namespace, own + 1)
    return own === ofNamespaceMost || this.#lines === linesMost ? "writeLast" : "write"
  }
}
