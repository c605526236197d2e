// A page of a list as callers get it. Unreadable rows are separated from the others, and the page continues after them.
import { isReadable } from "../domain/Timer.ts"
import type { Listed, ListPage, ListQuery } from "../ports/TimerStore.ts"
import { encodeCursor } from "./ListCursor.ts"
import type { WalkPlace } from "./ListLane.ts"
import { isUnindexed } from "./rowMatches.ts"

export interface WalkedPage {
  readonly items: ReadonlyArray<Listed>
  readonly examined: number
  readonly next?: WalkPlace | undefined
}

export const listPage = (query: ListQuery, { items, examined, next }: WalkedPage): ListPage => {
  const isShown = (listed: Listed) => isReadable(listed.state === "pending" ? listed.timer : listed.life)
  const unreadable = items.filter((listed) => !isShown(listed))
  return {
    items: unreadable.length === 0 ? items : items.filter(isShown),
    ...(unreadable.length === 0 ? {} : { unreadable }),
    ...(isUnindexed(query) ? { examined } : {}),
    ...(next === undefined ? {} : { next: encodeCursor(query, next) }),
  }
}
