// The participating nodes, for stores without a table for them: all nodes on one memory database, and the one process
// of an SQLite file.
import type { Announcement, Member, SeenBeat } from "../ports/ShardLeases.ts"
import { compareUtf8 } from "./Utf8Order.ts"

export class MemberList {
  readonly #members = new Map<string, Member>()

  /** False if the name belongs to another process. The nodes of one process need not name it. */
  announce({ node, address, isLeaving }: Announcement, process = ""): boolean {
    const before = this.#members.get(node)
    if (before !== undefined && before.process !== process) return false
    this.#members.set(node, { node, address, beat: (before?.beat ?? 0) + 1, process, isLeaving })
    return true
  }

  all(): ReadonlyArray<Member> {
    return [...this.#members.values()].sort((a, b) => compareUtf8(a.node, b.node))
  }

  retire(node: string, process = ""): void {
    if (this.#members.get(node)?.process === process) this.#members.delete(node)
  }

  retireSilent({ node, process, beat }: SeenBeat): void {
    if (this.#members.get(node)?.beat === beat) this.retire(node, process)
  }
}
