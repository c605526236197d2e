// How many requests may run at once. Further ones wait in order, for a limited time and in a limited number.
import { DynamoFailure } from "./DynamoFailure.ts"

const mostWaiting = 2_000

export class RequestPlaces {
  #free: number
  readonly #waiting: Array<() => void> = []

  constructor(size: number) {
    this.#free = size
  }

  /** Resolves to a function that gives the place back. */
  async enter(timeoutMs: number): Promise<() => void> {
    if (this.#free > 0) {
      this.#free--
      return this.#leave
    }
    if (this.#waiting.length >= mostWaiting)
      throw new DynamoFailure("busy", `More than ${mostWaiting} calls wait for DynamoDB.`)
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        const index = this.#waiting.indexOf(entered)
        if (index >= 0) this.#waiting.splice(index, 1)
        reject(new DynamoFailure("busy", "Too many calls to DynamoDB run at once."))
      }, timeoutMs)
      const entered = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#waiting.push(entered)
    })
    return this.#leave
  }

  readonly #leave = (): void => {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
