// Identifies the process of a node on its machine, so that a later process on that machine can find out whether the
// first one has ended. Normally a lease must expire before another node may take a shard, because a silent node may
// still be alive. If the process is known to have ended, no wait is needed.
//
// Only Linux provides enough information: the boot of the machine, the namespace of process ids (a container has its
// own), and the start time of a process, because process ids are reused. Network interfaces are part of the identity,
// because machines that were cloned while running have everything else in common.
import { randomUUID } from "node:crypto"
import { readFileSync, readlinkSync } from "node:fs"
import { hostname, networkInterfaces } from "node:os"

/** `undefined` if it cannot be determined. */
export const identityOf = (pid: number): string | undefined => {
  try {
    const { startedTicks } = stateOf(pid)
    return [...placeHere(), pid, startedTicks].join(separator)
  } catch {
    return undefined
  }
}

/** The identity of this process. It does not change, and is used every second. */
export const ownIdentity = (): string | undefined => {
  own ??= identityOf(process.pid)
  return own
}

let own: string | undefined

/** The name of this process in the list of members. */
export const processHere = (): string => ownIdentity() ?? unknownIdentity

/**
 * Used if the identity of this process cannot be read. It differs from that of every other process, and other nodes
 * never conclude from it that the process has ended.
 */
const unknownIdentity = `unknown|${randomUUID()}`

/** Whether the process ran on this machine, within the process ids that this one can see, and has certainly ended. */
export const hasEnded = (identity: string): boolean => {
  const parts = identity.split(separator)
  const startedTicks = parts.pop()
  const pid = Number(parts.pop())
  if (!Number.isInteger(pid) || pid <= 0 || !isHere(parts)) return false
  try {
    // Signal 0 sends nothing, and it also finds processes that are hidden from this one.
    process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH"
  }
  try {
    const state = stateOf(pid)
    // A zombie no longer runs. A different start time means a different process.
    return state.isDead || state.startedTicks !== startedTicks
  } catch {
    return false
  }
}

const separator = "|"

const isHere = (place: ReadonlyArray<string>): boolean => {
  try {
    const here = placeHere()
    return here.length === place.length && here.every((part, index) => part === place[index])
  } catch {
    return false
  }
}

const placeHere = (): ReadonlyArray<string> => [
  readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
  readlinkSync("/proc/self/ns/pid"),
  hostname(),
  cards(),
]

const cards = (): string => {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ mac }) => mac))
  return [...new Set(addresses)].sort().join(",")
}

/** The name of the program, in brackets, may contain any character. */
const stateOf = (pid: number): { readonly isDead: boolean; readonly startedTicks: string } => {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  const [state = "", startedTicks] = [fields[0], fields[19]]
  if (startedTicks === undefined) throw new Error(`/proc/${pid}/stat cannot be read`)
  return { isDead: state === "Z" || state === "X", startedTicks }
}
