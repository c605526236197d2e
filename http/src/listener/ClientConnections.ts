// All open connections and their limits. At a limit, the connection that has waited longest for its client makes room
// for a new one, so that clients that open connections and do nothing cannot keep others out. Connections whose clients
// do not read their answers make room last. A connection whose answer is not ready is never closed to make room.
//
// Times have the precision of one sweep. So a change of phase reads no clock.
import { ByteBudget } from "../ByteBudget.ts"
import type { ConnectionMetrics } from "../HttpMetrics.ts"
import { type PaceClock, systemPaceClock } from "../PaceClock.ts"
import {
  aheadPerTurn,
  aheadTurnMs,
  arrivalTurnMs,
  arrivalUnitsPerTurn,
  type ConnectionLimits,
  largeAnswersPerTurn,
  largeAnswersTurnMs,
  sentBytesMin,
  shareOfAddress,
  smallPartsPerTurn,
  smallPartsTurnMs,
  turnMs,
  turnUnits,
} from "./ConnectionLimits.ts"
import { RoomQueue } from "./RoomQueue.ts"
import { TurnBudget } from "./TurnBudget.ts"

/**
 * - `securing`: the handshake of TLS is not complete.
 * - `idle`: no byte of the next request has arrived.
 * - `arriving`: a part of a head has arrived. Its time goes on until the whole head is read.
 * - `receiving`: a part of a body is still to come. The route limits its time.
 * - `busy`: a whole request has arrived and is not answered yet, or the client has not read its answer.
 * - `leaving`: the last answer is sent, and the client should close.
 */
export type Phase = "securing" | "idle" | "arriving" | "receiving" | "busy" | "leaving"

/** What ran out: the time of a phase, or the time to read an answer. */
export type Expired = "securing" | "idle" | "arriving" | "leaving" | "unread"

export interface OpenConnection {
  readonly place: ConnectionPlace
  /** Its time is over. */
  expire(what: Expired): void
  /** Closes, so that a new connection has room. */
  makeRoom(): void
  /** Closes now if it is idle, otherwise after its answer. */
  drain(): void
  terminate(): void
}

export interface AddressGroup {
  readonly name: string
  open: number
  /** The connections that wait for their client, each list in the order of time. */
  readonly waiting: Readonly<Record<Waiting, Set<OpenConnection>>>
}

/** `unread`: the client has not read its answer. */
type Waiting = Exclude<Phase, "busy"> | "unread"

/** Where a connection is counted. Only `ClientConnections` changes it. */
export interface ConnectionPlace {
  readonly group: AddressGroup
  phase: Phase
  sinceMs: number
  /** Since when the client has not read enough. Only valid while the connection is in the list `unread`. */
  unreadSinceMs: number
  /** What the client has sent after its last request, and how much of it when it had last sent enough. */
  droppedBytes: number
  droppedMark: number
  /** When it had last sent enough. Only valid while the connection leaves. */
  sentAtMs: number
}

/** Which limit refuses a connection. */
export type ConnectionRefusal = "total" | "address"

/** In this order connections make room. */
const roomOrder: ReadonlyArray<Waiting> = ["leaving", "securing", "idle", "arriving", "receiving", "unread"]

/** How many connections one sweep ends, so that it does not hold the thread. */
export const endsPerSweep = 200

export class ClientConnections {
  readonly limits: ConnectionLimits
  /** Requests that wait for the answer of an earlier one, and heads that have not arrived completely. */
  readonly ahead: ByteBudget
  /** Answers that clients have not read. */
  readonly unread: ByteBudget
  /** The work for all clients in one turn of the event loop. */
  readonly turn: TurnBudget
  /** The new connections, in a longer turn. */
  readonly arrivalTurn: TurnBudget
  /** The requests that all clients have sent ahead of an answer, in a longer turn. */
  readonly aheadTurn: TurnBudget
  /** The small parts of requests, in a longer turn. */
  readonly smallPartsTurn: TurnBudget
  /** The bytes of large answers, in a longer turn. */
  readonly largeAnswersTurn: TurnBudget
  readonly #metrics: ConnectionMetrics
  readonly #groups = new Map<string, AddressGroup>()
  readonly #open = new Set<OpenConnection>()
  /** Built when it is needed, for the time until the next sweep. */
  #room: RoomQueue<AddressGroup> | undefined
  #nowMs: number
  #isDraining = false
  #onEmpty: (() => void) | undefined

  constructor(
    limits: ConnectionLimits,
    metrics: ConnectionMetrics,
    nowMs: number,
    clock: PaceClock = systemPaceClock,
  ) {
    this.limits = limits
    this.#metrics = metrics
    this.#nowMs = nowMs
    this.turn = new TurnBudget({ unitsPerTurn: turnUnits, turnMs, nowMs: clock.nowMs })
    const longTurn = (unitsPerTurn: number, everyMs: number) =>
      new TurnBudget({
        unitsPerTurn,
        turnMs: Number.POSITIVE_INFINITY,
        nowMs: clock.nowMs,
        after: (begin) => clock.after(everyMs, begin),
      })
    this.arrivalTurn = longTurn(arrivalUnitsPerTurn, arrivalTurnMs)
    this.aheadTurn = longTurn(aheadPerTurn, aheadTurnMs)
    this.smallPartsTurn = longTurn(smallPartsPerTurn, smallPartsTurnMs)
    this.largeAnswersTurn = longTurn(largeAnswersPerTurn, largeAnswersTurnMs)
    const budget = (bytesMax: number) =>
      new ByteBudget({ bytesMax, bytesPerAddressMax: Math.ceil(bytesMax * shareOfAddress) })
    this.ahead = budget(limits.aheadBytesMax)
    this.unread = budget(limits.unreadBytesMax)
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  get size(): number {
    return this.#open.size
  }

  /** Makes room for a new connection of this group if it can. Otherwise it returns the limit that refuses it. */
  whyRefused(groupName: string): ConnectionRefusal | undefined {
    const group = this.#groups.get(groupName)
    if (group !== undefined && group.open >= this.limits.connectionsPerAddressMax && !this.#makeRoom(group))
      return this.#refused("address")
    if (this.#open.size >= this.limits.connectionsMax && !this.#makeRoomOfAny()) return this.#refused("total")
    return undefined
  }

  /** The group of a new connection counts from here on, so `enter` must follow. */
  placeFor(groupName: string, phase: "securing" | "idle" = "idle"): ConnectionPlace {
    const group = this.#groups.get(groupName) ?? {
      name: groupName,
      open: 0,
      waiting: {
        securing: new Set(),
        idle: new Set(),
        arriving: new Set(),
        receiving: new Set(),
        leaving: new Set(),
        unread: new Set(),
      },
    }
    this.#groups.set(groupName, group)
    group.open++
    return {
      group,
      phase,
      sinceMs: this.#nowMs,
      unreadSinceMs: 0,
      droppedBytes: 0,
      droppedMark: 0,
      sentAtMs: 0,
    }
  }

  enter(connection: OpenConnection): void {
    this.#open.add(connection)
    const { group, phase } = connection.place
    if (phase !== "busy") group.waiting[phase].add(connection)
    this.#metrics.open(this.#open.size)
  }

  leave(connection: OpenConnection): void {
    if (!this.#open.delete(connection)) return
    const { group, phase } = connection.place
    if (phase !== "busy") group.waiting[phase].delete(connection)
    group.waiting.unread.delete(connection)
    group.open--
    if (group.open === 0) this.#groups.delete(group.name)
    this.#metrics.open(this.#open.size)
    if (this.#open.size === 0) this.#onEmpty?.()
  }

  move(connection: OpenConnection, to: Phase): void {
    const { place } = connection
    const from = place.phase
    if (from === to) return
    if (from !== "busy") place.group.waiting[from].delete(connection)
    if (to !== "busy") place.group.waiting[to].add(connection)
    place.phase = to
    place.sinceMs = this.#nowMs
  }

  /** The client has not read all of an answer. The time begins now. */
  waitsForReader(connection: OpenConnection): void {
    const { place } = connection
    const { unread } = place.group.waiting
    place.unreadSinceMs = this.#nowMs
    // The list is in the order of time.
    unread.delete(connection)
    unread.add(connection)
  }

  hasRead(connection: OpenConnection): void {
    connection.place.group.waiting.unread.delete(connection)
  }

  /** The client sends after its last request, and nobody reads it. Returns false if this is too much. */
  mayDrop({ place }: OpenConnection, bytes: number): boolean {
    place.droppedBytes += bytes
    if (place.droppedBytes - place.droppedMark >= sentBytesMin) {
      place.droppedMark = place.droppedBytes
      place.sentAtMs = this.#nowMs
    }
    return place.droppedBytes <= this.limits.lingerBytesMax
  }

  /** The service closed a connection for this reason. */
  closedFor(reason: Expired | "room" | "bytes"): void {
    this.#metrics.closed(reason)
  }

  /** Ends connections whose time is over. Returns whether there may be more of them. */
  sweep(nowMs: number): boolean {
    this.#nowMs = nowMs
    this.#room = undefined
    const overdue: Array<readonly [OpenConnection, Expired]> = []
    const { idleMs, headMs, lingerMs, readMs } = this.limits
    const look = (waiting: AddressGroup["waiting"], what: Expired, withinMs: number): void => {
      for (const one of waiting[what]) {
        if (sinceOf(one, what) + withinMs > nowMs || overdue.length === endsPerSweep) return
        if (what !== "leaving" || !this.#stillSends(one)) overdue.push([one, what])
      }
    }
    for (const { waiting } of this.#groups.values()) {
      look(waiting, "unread", readMs)
      look(waiting, "idle", idleMs)
      look(waiting, "leaving", lingerMs)
      look(waiting, "arriving", headMs)
      look(waiting, "securing", headMs)
    }
    for (const [connection, what] of overdue) connection.expire(what)
    return overdue.length === endsPerSweep
  }

  /** Answers what has arrived and closes. Completes when all connections are closed. */
  drain(): Promise<void> {
    this.#isDraining = true
    for (const connection of [...this.#open]) connection.drain()
    return new Promise((resolve) => {
      this.#onEmpty = resolve
      if (this.#open.size === 0) resolve()
    })
  }

  terminateAll(): void {
    for (const connection of [...this.#open]) connection.terminate()
  }

  /** Whether a connection that leaves may stay, because its client sends the rest of a body. */
  #stillSends({ place }: OpenConnection): boolean {
    const { lingerMs, lingerSendingMs } = this.limits
    const isSending = place.droppedMark > 0 && place.sentAtMs + lingerMs > this.#nowMs
    return isSending && place.sinceMs + lingerSendingMs > this.#nowMs && !this.#isDraining
  }

  #refused(reason: ConnectionRefusal): ConnectionRefusal {
    this.#metrics.refused(reason)
    return reason
  }

  /** Only a connection that has waited since before the last sweep makes room: others may have just opened. */
  readonly #makeRoom = (group: AddressGroup): boolean => {
    for (const what of roomOrder) {
      const [oldest] = group.waiting[what]
      if (oldest === undefined || sinceOf(oldest, what) >= this.#nowMs) continue
      oldest.makeRoom()
      return true
    }
    return false
  }

  /** The address that has the most connections gives one up, if one of them waits for its client. */
  #makeRoomOfAny(): boolean {
    this.#room ??= new RoomQueue(this.#groups.values())
    return this.#room.makeRoom(this.#makeRoom)
  }
}

const sinceOf = ({ place }: OpenConnection, what: Waiting): number =>
  what === "unread" ? place.unreadSinceMs : place.sinceMs
