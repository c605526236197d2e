// Every connection is an open file, and the system limits how many of them a process may have. Beyond that limit the
// system would refuse webhooks and the store as well, so the listener stays below it.
import { readFileSync } from "node:fs"

/** How many files the process may open; undefined if the system does not say. */
export const openFilesMax = (): number | undefined => {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** For webhooks, the store, the broker and log files. */
const filesBeside = 1_000

/** As many connections as asked for, or as the open files allow. At most half of a low limit is left for other files. */
export const connectionsWithin = (connectionsMax: number, filesMax: number | undefined): number =>
  filesMax === undefined
    ? connectionsMax
    : Math.min(connectionsMax, Math.max(1, filesMax - Math.min(filesBeside, Math.ceil(filesMax / 2))))
