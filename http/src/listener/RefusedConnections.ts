// Connections beyond the limits. Each gets a short answer, and a moment to read it. Only a few wait at once: further
// ones are closed without an answer.
import { Overloaded } from "@punctual/api/Problem"
import { problemResponse } from "../problemResponse.ts"
import { settingName } from "../settingName.ts"
import { lastAnswerText } from "./answerHead.ts"
import type { ConnectionRefusal } from "./ClientConnections.ts"
import type { ConnectionLimits } from "./ConnectionLimits.ts"
import type { Wire, WireEvents } from "./Wire.ts"

export class RefusedConnections {
  readonly #limits: ConnectionLimits
  readonly #namePrefix: string
  readonly #sinceMs = new Map<Wire, number>()
  #nowMs: number

  constructor(limits: ConnectionLimits, namePrefix: string, nowMs: number) {
    this.#limits = limits
    this.#namePrefix = namePrefix
    this.#nowMs = nowMs
  }

  refuse(wire: Wire, reason: ConnectionRefusal): WireEvents | undefined {
    if (this.#sinceMs.size >= this.#limits.refusedMax) {
      wire.terminate()
      return undefined
    }
    this.#sinceMs.set(wire, this.#nowMs)
    const answer = Buffer.from(
      lastAnswerText(problemResponse(whyRefused(reason, this.#limits, this.#namePrefix))),
    )
    let isSent = false
    const send = (): void => {
      // With TLS the wire takes nothing before its handshake.
      if (isSent || wire.write(answer) === 0) return
      isSent = true
      wire.shutdown()
    }
    send()
    return {
      onData: () => undefined,
      onDrain: send,
      onEnd: () => wire.end(),
      onClose: () => void this.#sinceMs.delete(wire),
    }
  }

  sweep(nowMs: number): void {
    this.#nowMs = nowMs
    for (const [wire, sinceMs] of this.#sinceMs) {
      if (sinceMs + this.#limits.lingerMs > nowMs) return
      this.#sinceMs.delete(wire)
      wire.terminate()
    }
  }

  terminateAll(): void {
    for (const wire of [...this.#sinceMs.keys()]) wire.terminate()
    this.#sinceMs.clear()
  }
}

const whyRefused = (reason: ConnectionRefusal, limits: ConnectionLimits, namePrefix: string): Overloaded =>
  new Overloaded({
    detail:
      reason === "address"
        ? `Your address has ${limits.connectionsPerAddressMax} open connections, which is the limit (${settingName(namePrefix, "MAX_CONNECTIONS_PER_ADDRESS")}). Nothing was written: close some, or retry.`
        : `The service has ${limits.connectionsMax} open connections, which is the limit (${settingName(namePrefix, "MAX_CONNECTIONS")}). Nothing was written: retry.`,
    retryAfterSeconds: 1,
    written: "no",
  })
