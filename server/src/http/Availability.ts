// Whether the service can answer calls now. It cannot while it waits for its store, and while it stops.
import { OwnerUnavailable, type Problem } from "@punctual/api/Problem"
import type { Engine, EngineStatus } from "../engine/Engine.ts"

/**
 * Reading the status for every call would cost too much, so an open service counts as open until this time has passed.
 * In between, the engine itself refuses calls that it cannot accept. A closed service is looked at again for every call:
 * no call may be refused after the service has said that it is ready.
 */
const openForMs = 50

export class Availability {
  readonly #engine: Pick<Engine["Service"], "status">
  readonly #isOneOfSeveral: boolean
  #isStopping = false
  #foundOpenAt = Number.NEGATIVE_INFINITY

  constructor(engine: Pick<Engine["Service"], "status">, isOneOfSeveral: boolean) {
    this.#engine = engine
    this.#isOneOfSeveral = isOneOfSeveral
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  stop(): void {
    this.#isStopping = true
  }

  /** Why the service cannot answer calls now; `undefined` if it can. */
  whyClosed(): Problem | undefined {
    if (this.#isStopping) return stopping()
    const now = performance.now()
    if (now - this.#foundOpenAt <= openForMs) return undefined
    const waits = whyWaiting(this.#engine.status(), this.#isOneOfSeveral)
    if (waits === undefined) this.#foundOpenAt = now
    return waits
  }
}

/** The answer to calls while the service starts. */
export const whyStarting = (): Problem =>
  new OwnerUnavailable({
    detail: "The service is starting. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })

const stopping = (): Problem =>
  new OwnerUnavailable({
    detail: "The service is stopping. Nothing was written: retry on another node or after a restart.",
    retryAfterSeconds: 5,
    written: "no",
  })

/**
 * A node that owns no shard forwards calls to the owners. It also accepts calls for a shard that has no owner at the
 * moment, for example during a handover. For both it must have read the list of shards once.
 */
const whyWaiting = (status: EngineStatus, isOneOfSeveral: boolean): Problem | undefined => {
  if (!status.isWaiting) return undefined
  if (!isOneOfSeveral) return status.waitsFor === "otherProcess" ? waitingToTakeOver() : claiming(status)
  return status.shards > 0 ? undefined : waitingForShards()
}

const claiming = ({ waitsFor }: EngineStatus): Problem =>
  waitsFor === "nextClaim"
    ? new OwnerUnavailable({
        detail: "This process has lost its shards and claims them again. Nothing was written: retry.",
        retryAfterSeconds: 1,
        written: "no",
      })
    : whyStarting()

const waitingToTakeOver = (): Problem =>
  new OwnerUnavailable({
    detail: "Another process owns the store, and this one waits to take over. Nothing was written.",
    retryAfterSeconds: 5,
    written: "no",
  })

const waitingForShards = (): Problem =>
  new OwnerUnavailable({
    detail: "This node has not read the shards of its store yet. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })
