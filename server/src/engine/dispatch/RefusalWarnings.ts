// The log lines about hosts that the egress rules refuse. A tenant can name many hosts, so there are only a few lines in
// each minute, and then a count.

/** The most lines about single hosts in a minute. */
const linesMost = 10
const minuteMs = 60_000

export class RefusalWarnings {
  #sinceMs = Number.NEGATIVE_INFINITY
  #refused = 0

  /** The lines to write when a host was refused for the first time. `nowMs` is monotonic. */
  linesFor(host: string, detail: string, nowMs: number): ReadonlyArray<string> {
    const lines: Array<string> = []
    if (nowMs - this.#sinceMs >= minuteMs) {
      const unnamed = this.#refused - linesMost
      if (unnamed > 0) lines.push(`the egress rules refused ${unnamed} more hosts that the log does not name`)
      this.#sinceMs = nowMs
      this.#refused = 0
    }
    this.#refused++
    if (this.#refused <= linesMost) lines.push(`timers for ${host} wait, without attempts: ${detail}`)
    else if (this.#refused === linesMost + 1) {
      lines.push(
        "the egress rules refuse many hosts, so the log names no more of them for up to a minute: timer_egress_refused_hosts counts them",
      )
    }
    return lines
  }
}
