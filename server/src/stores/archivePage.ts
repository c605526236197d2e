// A page of an archive. Unreadable rows are separated from the rows that can be restored.
import { isReadable } from "../domain/Timer.ts"
import { type ArchivedItem, keyOfArchived } from "../domain/WriteItem.ts"
import type { ArchivePage, ArchivePlace } from "../ports/TimerArchive.ts"

export const archivePage = (
  found: ReadonlyArray<ArchivedItem>,
  next: ArchivePlace | undefined,
): ArchivePage => {
  const isWhole = (item: ArchivedItem) => isReadable(keyOfArchived(item))
  const unreadable = found.filter((item) => !isWhole(item))
  return {
    items: unreadable.length === 0 ? found : found.filter(isWhole),
    ...(unreadable.length === 0 ? {} : { unreadable }),
    ...(next === undefined ? {} : { next }),
  }
}
