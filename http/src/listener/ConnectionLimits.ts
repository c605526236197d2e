// The limits of the listener: how many connections it accepts, how long it waits for a client, and how many bytes it
// holds for clients.

export interface ConnectionLimits {
  readonly connectionsMax: number
  /** For one address. An IPv6 address counts as its /64 network. */
  readonly connectionsPerAddressMax: number
  /** How long a connection may stay open without a request. */
  readonly idleMs: number
  /** The longest time from the first byte of a request to the end of its headers, and of a handshake of TLS. */
  readonly headMs: number
  /** How long a client may take to read a part of an answer. */
  readonly readMs: number
  /** How long the service waits, after its last answer, for the client to close, or to send more. */
  readonly lingerMs: number
  /**
   * How long it waits for a client that still sends. Many clients read an answer only after they have sent their whole
   * body. If the service closed before, they would report a broken connection instead of the answer.
   */
  readonly lingerSendingMs: number
  /** How many bytes the service reads and drops while it waits for the client to close. */
  readonly lingerBytesMax: number
  /** How many refused connections wait at once for their client to close. Further ones are closed without an answer. */
  readonly refusedMax: number
  /** How many new connections wait at once for their turn. At the limit, one is closed without an answer. */
  readonly arrivingMax: number
  /**
   * The requests that wait for the answer of an earlier one on their connection, and the heads that have not arrived
   * completely, in total.
   */
  readonly aheadBytesMax: number
  /** The answers that clients have not read, in total. */
  readonly unreadBytesMax: number
}

const mebibyte = 1024 * 1024

export const defaultConnectionLimits: ConnectionLimits = {
  connectionsMax: 10_000,
  connectionsPerAddressMax: 1_000,
  idleMs: 75_000,
  headMs: 10_000,
  readMs: 30_000,
  lingerMs: 2_000,
  lingerSendingMs: 30_000,
  lingerBytesMax: 128 * mebibyte,
  refusedMax: 100,
  arrivingMax: 5_000,
  aheadBytesMax: 32 * mebibyte,
  unreadBytesMax: 256 * mebibyte,
}

/** One address may use this share of each limit of bytes. */
export const shareOfAddress = 1 / 4

/** A client must read at least this much within `readMs`, or all that is left. */
export const readBytesMin = 16 * 1024

/** After the last answer, a client counts as sending if it sends at least this much within `lingerMs`. */
export const sentBytesMin = 16 * 1024

/** The work for clients in one turn of the event loop: bytes of answers, and a fixed part for each request. */
export const turnUnits = 512 * 1024
export const unitsPerRequest = 8 * 1024
/** Requests that take longer than usual end a turn after this time. */
export const turnMs = 3

/**
 * Requests that a client has sent ahead of an answer: at most so many of all connections in such a time, 1,000 in a second.
 * A client cannot wait for so many answers, and without this limit a few connections would keep both the thread and the
 * store busy all the time.
 */
export const aheadPerTurn = 16
export const aheadTurnMs = 16

/**
 * New connections: at most 2,000 in a second. With TLS each includes a handshake, and they are at most 500 in a second: a
 * handshake takes up to a millisecond of the thread.
 */
export const arrivalUnitsPerTurn = 8
export const arrivalTurnMs = 4
export const unitsPerConnection = 1
export const unitsPerHandshake = 4

/**
 * Small parts of requests: parts of heads that have not arrived completely, and small parts of bodies that they do not
 * complete. All connections together have at most 32 read in 16 ms. Usual clients send a head in one part. Without this
 * limit, thousands of connections that each send a line at the same moment would hold the thread.
 */
export const smallPartsPerTurn = 32
export const smallPartsTurnMs = 16

/**
 * A part of a body below this size is small. The packets of usual networks carry more, so the bodies of usual clients have
 * no small part except the last one. What arrives with the head does not count.
 */
export const smallBodyPartBytes = 1024

/**
 * The bytes of large answers that all connections together send in such a time: 64 MiB in a second. Sending a megabyte
 * takes about a millisecond of the thread.
 */
export const largeAnswersPerTurn = 256 * 1024
export const largeAnswersTurnMs = 4

/** How fast all connections together read large bodies. These bodies take about a fifth of the thread. */
export const readBytesPerSecond = 24 * mebibyte
export const readBurstBytes = 1 * mebibyte
