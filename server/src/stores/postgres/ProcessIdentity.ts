// Which process of which machine a node is, told so that a later process of that machine can find out whether it is
// no more. A lease must run out before another may take a shard, because a node that is silent may still live; one that
// is known to have ended need not be waited for.
//
// Only Linux tells enough: the machine since its start, the space in which process numbers mean something (a container has
// its own), and when a process began, since numbers are used again. Network cards are part of the place because machines
// that were copied while they ran have all else in common.
import { readFileSync, readlinkSync } from "node:fs"
import { hostname, networkInterfaces } from "node:os"

/** Undefined where it cannot be told. */
export const identityOf = (pid: number): string | undefined => {
  try {
    const { startedTicks } = stateOf(pid)
    return [...placeHere(), pid, startedTicks].join(separator)
  } catch {
    return undefined
  }
}

/** Of this process; it does not change, and is asked for every second. */
export const ownIdentity = (): string | undefined => {
  own ??= identityOf(process.pid)
  return own
}

let own: string | undefined

/** Whether it ran on this machine, among the processes that this one can see, and has certainly ended. */
export const hasEnded = (identity: string): boolean => {
  const parts = identity.split(separator)
  const startedTicks = parts.pop()
  const pid = Number(parts.pop())
  if (!Number.isInteger(pid) || pid <= 0 || !isHere(parts)) return false
  try {
    // It sends nothing, and also finds processes that are hidden from this one.
    process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH"
  }
  try {
    const state = stateOf(pid)
    // One that waits for its parent to notice runs no more. With another beginning it is another process.
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

/** The name of the program, in brackets, may hold anything. */
const stateOf = (pid: number): { readonly isDead: boolean; readonly startedTicks: string } => {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  const [state = "", startedTicks] = [fields[0], fields[19]]
  if (startedTicks === undefined) throw new Error(`/proc/${pid}/stat cannot be read`)
  return { isDead: state === "Z" || state === "X", startedTicks }
}
