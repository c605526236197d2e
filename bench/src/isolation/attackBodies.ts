// Clients that send one hostile body of createMany after another, as fast as the service takes them.

import type { Tally } from "../Tally.ts"
import { attackerAddress, bytesOf, headOf } from "./attackConnections.ts"
import { RawConnection } from "./RawConnection.ts"

const againAfterMs = 50

export const sendBodies = (url: string, body: string, clients: number, tally: Tally): void => {
  const request = bytesOf(`${headOf(url, "createMany", body.length)}${body}`)
  const open = (index: number): void =>
    RawConnection.open({
      url,
      from: attackerAddress(index),
      onOpen: (connection) => connection.send(request),
      onAnswer: (status, connection) => {
        tally.add(status)
        if (connection.hasSentAll) return connection.send(request)
        // The service answered before it had the whole body, so it will not read the rest.
        connection.close()
        setTimeout(open, againAfterMs, index)
      },
      onEnd: (wasOpen) => {
        tally.add(wasOpen ? "closed" : "not connected")
        setTimeout(open, againAfterMs, index)
      },
    })
  for (let index = 0; index < clients; index++) open(index)
}
