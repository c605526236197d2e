// A page of a list as callers get it. Unreadable rows are separated from the others, and the page continues after them.
import { isReadable } from "../domain/Timer.ts"
import type { SortKey } from "../ports/ShardStorage.ts"
import type { Listed, ListPage, ListQuery } from "../ports/TimerStore.ts"
import { encodeCursor } from "./ListCursor.ts"

export const listPage = (
  query: ListQuery,
  found: ReadonlyArray<Listed>,
  next: SortKey | undefined,
): ListPage => {
  const isShown = (listed: Listed) => isReadable(listed.state === "pending" ? listed.timer : listed.life)
  const unreadable = found.filter((listed) => !isShown(listed))
  return {
    items: unreadable.length === 0 ? found : found.filter(isShown),
    ...(unreadable.length === 0 ? {} : { unreadable }),
    ...(next === undefined ? {} : { next: encodeCursor(query, next) }),
  }
}
