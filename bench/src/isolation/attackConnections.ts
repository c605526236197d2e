// Attacks with connections: bodies and headers that never end, requests without a pause, answers that nobody reads.
// A connection that the service closes is opened again after a second, so the number of connections is bounded.

import type { Tally } from "../Tally.ts"
import { RawConnection, type RawConnectionOptions } from "./RawConnection.ts"

const againAfterMs = 1_000
const headerEveryMs = 1_000
const addresses = 10

interface Flood {
  readonly url: string
  readonly connections: number
  readonly tally: Tally
}

/** The connections come from ten addresses, so that a limit for one address does not stop all of them. */
export const attackerAddress = (index: number): string => `127.66.0.${1 + (index % addresses)}`

/** Each connection announces a large body, sends a few bytes of it, and then nothing. */
export const sendUnfinishedBodies = (flood: Flood): void =>
  keepOpen(flood, {
    onOpen: (connection) =>
      connection.send(bytesOf(`${headOf(flood.url, "create", 900_000)}{"namespace":"attacker"`)),
  })

/** Each connection announces the largest body, sends this many bytes of it at once, and then nothing. */
export const sendHeldBodies = (flood: Flood, bytes: number): void => {
  const part = bytesOf(`${headOf(flood.url, "createMany", 15_500_000)}${" ".repeat(bytes)}`)
  keepOpen(flood, { onOpen: (connection) => connection.send(part) })
}

/** Each connection asks for the largest page, reads it, and asks again. */
export const sendLists = (flood: Flood): void => {
  const list = bytesOf(requestOf(flood.url, "list", `{"namespace":"${largeNamespace}","limit":1000}`))
  const ask = (connection: RawConnection) => connection.send(list)
  keepOpen(flood, { onOpen: ask, onAnswer: ask })
}

/** The namespace of timers with many headers. */
export const largeNamespace = "large"

/** Each connection sends a line of its header each second, and never the last one. */
export const sendSlowHeaders = (flood: Flood): void => {
  const open = new Set<RawConnection>()
  const line = bytesOf("x-more: 1\r\n")
  setInterval(() => {
    for (const connection of open) connection.send(line)
  }, headerEveryMs)
  keepOpen(flood, {
    onOpen: (connection) => {
      open.add(connection)
      connection.send(bytesOf("POST /api/v1/timers/create HTTP/1.1\r\nhost: localhost\r\n"))
    },
    onGone: (connection) => open.delete(connection),
  })
}

/** Each connection sends many creates and gets in one piece, reads all answers, and begins again. */
export const sendPipelined = (flood: Flood, requests: number): void => {
  const create = requestOf(
    flood.url,
    "create",
    '{"namespace":"attacker","delay":"24h","callbackUrl":"http://127.0.0.1:9/"}',
  )
  const get = requestOf(flood.url, "get", '{"namespace":"attacker","timerId":"none"}')
  const batch = bytesOf(
    Array.from({ length: requests }, (_, index) => (index % 2 === 0 ? create : get)).join(""),
  )
  const unanswered = new Map<RawConnection, number>()
  const begin = (connection: RawConnection) => {
    unanswered.set(connection, requests)
    connection.send(batch)
  }
  keepOpen(flood, {
    onOpen: begin,
    onAnswer: (connection) => {
      const left = (unanswered.get(connection) ?? 0) - 1
      unanswered.set(connection, left)
      if (left === 0) begin(connection)
    },
    onGone: (connection) => {
      flood.tally.add("unanswered", unanswered.get(connection) ?? 0)
      unanswered.delete(connection)
    },
  })
}

/** Each connection asks many times for the largest document of the service and reads nothing. */
export const sendAndNeverRead = (flood: Flood, requests: number): void => {
  const batch = bytesOf("GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(requests))
  keepOpen(flood, { isReading: false, onOpen: (connection) => connection.send(batch) })
}

/** The head of a call with a JSON body. */
export const headOf = (url: string, call: string, bodyBytes: number): string =>
  `POST /api/v1/timers/${call} HTTP/1.1\r\nhost: ${new URL(url).host}\r\ncontent-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`

export const bytesOf = (text: string): Uint8Array => Buffer.from(text, "latin1")

const requestOf = (url: string, call: string, body: string): string =>
  `${headOf(url, call, body.length)}${body}`

interface Manners extends Pick<RawConnectionOptions, "isReading" | "onOpen"> {
  readonly onAnswer?: (connection: RawConnection) => void
  readonly onGone?: (connection: RawConnection) => void
}

/** Opens the connections, counts what they get, and opens each again a second after it has ended. */
const keepOpen = ({ url, connections, tally }: Flood, manners: Manners): void => {
  const open = (index: number): void => {
    let opened: RawConnection | undefined
    RawConnection.open({
      url,
      from: attackerAddress(index),
      ...(manners.isReading === undefined ? {} : { isReading: manners.isReading }),
      onOpen: (connection) => {
        opened = connection
        tally.add("connected")
        manners.onOpen(connection)
      },
      onAnswer: (status, connection) => {
        tally.add(status)
        manners.onAnswer?.(connection)
      },
      onEnd: (wasOpen) => {
        tally.add(wasOpen ? "closed" : "not connected")
        if (opened !== undefined) manners.onGone?.(opened)
        setTimeout(open, againAfterMs, index)
      },
    })
  }
  for (let index = 0; index < connections; index++) open(index)
}
