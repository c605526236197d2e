// A client that does what an open page Timers of the console does: it reads the stream of events, lists the first rows
// again when something has happened, and asks at fixed intervals for the counts of the strip and the state of the
// service. The pages are in web/console/timers.
import { RawConnection } from "../isolation/RawConnection.ts"
import type { Tally } from "../Tally.ts"

export interface ApiReaderOptions {
  readonly url: string
  /** The local address. The service allows 20 streams for an address without a key. */
  readonly from: string
  /** 0 to 1: where in its intervals this reader is. Readers do not open their pages at the same moment. */
  readonly phase: number
  readonly tally: Tally
}

const rows = 100
const headRows = 50
const rowsEveryMs = 2_000
const buckets = 96
const stripEveryMs = 10_000
const serviceEveryMs = 5_000
const stripMs = 24 * 3_600_000
/** The strip begins this part of its span before now. */
const beforeNow = 1 / 16

const search = { namespaces: ["*"], states: ["pending"] }

export class ApiReader implements Disposable {
  readonly #options: ApiReaderOptions
  readonly #connections: Array<RawConnection> = []
  /** What it does next, by name. */
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>()
  #calls: RawConnection | undefined
  #rowsAtMs = 0

  private constructor(options: ApiReaderOptions) {
    this.#options = options
  }

  /** Opens a page that stays open. */
  static open(options: ApiReaderOptions): ApiReader {
    const reader = new ApiReader(options)
    reader.#openCalls()
    reader.#openStream()
    reader.#repeat("strip", stripEveryMs, () => reader.#askStrip())
    reader.#repeat("service", serviceEveryMs, () => reader.#call("service/get", {}))
    return reader
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    for (const connection of this.#connections) connection.close()
  }

  #openCalls(): void {
    const { url, from, tally } = this.#options
    RawConnection.open({
      url,
      from,
      onOpen: (connection) => {
        this.#connections.push(connection)
        this.#calls = connection
        this.#begin()
      },
      onAnswer: (status) => tally.add(status),
      onEnd: () => tally.add("closed"),
    })
  }

  #openStream(): void {
    const { url, from, tally } = this.#options
    RawConnection.open({
      url,
      from,
      onOpen: (connection) => {
        this.#connections.push(connection)
        connection.send(Buffer.from(streamRequest(url)))
      },
      onAnswer: (status) => tally.add(`stream ended with ${status}`),
      onPiece: (bytes) => this.#heard(eventsIn(bytes)),
      onEnd: () => tally.add("stream closed"),
    })
  }

  #repeat(name: string, everyMs: number, act: () => void): void {
    const after = (delayMs: number): void => {
      const timer = setTimeout(() => {
        after(everyMs)
        act()
      }, delayMs)
      this.#timers.set(name, timer)
    }
    after(this.#options.phase * everyMs)
  }

  #begin(): void {
    this.#call("keys/self", {})
    this.#call("service/get", {})
    this.#askRows(rows)
    this.#call("timers/count", search)
    this.#askStrip()
  }

  /** A piece of the stream has arrived. */
  #heard(events: number): void {
    this.#options.tally.add("events", events)
    if (events === 0 || this.#timers.has("rows")) return
    const dueMs = this.#rowsAtMs + rowsEveryMs
    this.#timers.set(
      "rows",
      setTimeout(() => this.#askRows(headRows), Math.max(0, dueMs - Date.now())),
    )
  }

  #askRows(limit: number): void {
    this.#timers.delete("rows")
    this.#rowsAtMs = Date.now()
    this.#call("timers/list", { ...search, limit })
  }

  #askStrip(): void {
    const fromMs = Date.now() - beforeNow * stripMs
    const span = { from: new Date(fromMs).toISOString(), until: new Date(fromMs + stripMs).toISOString() }
    this.#call("timers/histogram", { filter: { ...search, ...span }, buckets })
  }

  #call(path: string, body: object): void {
    this.#calls?.send(Buffer.from(callRequest(this.#options.url, path, body)))
  }
}

/** How many events begin in this piece of a stream. One that is cut in the middle of this word does not count. */
const eventsIn = (bytes: Buffer): number => bytes.toString("latin1").match(/^event: /gm)?.length ?? 0

const streamRequest = (url: string): string =>
  `GET /api/v1/events/stream HTTP/1.1\r\nhost: ${new URL(url).host}\r\naccept: text/event-stream\r\n\r\n`

const callRequest = (url: string, path: string, body: object): string => {
  const json = JSON.stringify(body)
  return [
    `POST /api/v1/${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    "content-type: application/json",
    `content-length: ${json.length}`,
    "",
    json,
  ].join("\r\n")
}
