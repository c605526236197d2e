// The participating nodes, for stores without a table for them: all nodes on one memory database, and the one process
// of an SQLite file.
import type { Member } from "../ports/ShardLeases.ts"
import { compareUtf8 } from "./Utf8Order.ts"

export class MemberList {
  readonly #members = new Map<string, Member>()

  /** Always true, because all nodes of the list are in one process and no other process can have the name. */
  announce({ node, address, isLeaving }: Omit<Member, "beat">): true {
    const beat = (this.#members.get(node)?.beat ?? 0) + 1
    this.#members.set(node, { node, address, beat, isLeaving })
    return true
  }

  all(): ReadonlyArray<Member> {
    return [...this.#members.values()].sort((a, b) => compareUtf8(a.node, b.node))
  }

  retire(node: string): void {
    this.#members.delete(node)
  }
}
