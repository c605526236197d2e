// Many pending timers in several namespaces, and searches among them with what they must find. In due order the timers
// are numbered from 0.
import type { SendCall } from "./callsOf.ts"

const hourMs = 3_600_000
/** The strip of the page shows a day. All timers are due in it, and none while a test runs. */
const spreadMs = 20 * hourMs
const perCall = 1_000
const callsAtOnce = 4

const namespaces = ["shop", "billing", "crm", "fleet"] as const
const everyTagged = 1_000

const idOf = (number: number): string => `order-${String(number).padStart(7, "0")}`
const namespaceOf = (number: number): string => namespaces[number % namespaces.length] ?? ""
const rowOf = (number: number): string => `${namespaceOf(number)} / ${idOf(number)}`

export interface KnownSearch {
  /** Of the page Timers. */
  readonly parameters: Readonly<Record<string, string>>
  /** The text of its first row. */
  readonly firstRow: string
  readonly matches: number
}

export class ManyTimers {
  readonly count: number
  readonly #startMs = Date.now() + 2 * hourMs

  constructor(count: number) {
    this.count = count
  }

  /** Creates them all. */
  async create(send: SendCall): Promise<void> {
    let next = 0
    const creator = async () => {
      for (let first = next; first < this.count; first = next) {
        next = first + perCall
        const length = Math.min(perCall, this.count - first)
        await send("timers/createMany", {
          timers: Array.from({ length }, (_, at) => this.#timer(first + at)),
        })
      }
    }
    await Promise.all(Array.from({ length: callsAtOnce }, creator))
  }

  /** One search for each kind of filter. */
  get searches(): ReadonlyArray<KnownSearch> {
    const half = this.count / 2
    const inFirst = { namespace: namespaces[0], matches: this.count / namespaces.length }
    return [
      { parameters: {}, firstRow: rowOf(0), matches: this.count },
      { parameters: { q: "namespace:billing" }, firstRow: rowOf(1), matches: inFirst.matches },
      {
        parameters: { q: `namespace:${inFirst.namespace} state:pending` },
        firstRow: rowOf(0),
        matches: inFirst.matches,
      },
      { parameters: { from: this.#dueAt(half) }, firstRow: rowOf(half), matches: half },
      { parameters: { q: "namespace:crm id:order-00012" }, firstRow: rowOf(1_202), matches: 25 },
      { parameters: { q: "tag:trial" }, firstRow: rowOf(0), matches: this.count / everyTagged },
      { parameters: { q: `correlation:${correlationOf(1_000)}` }, firstRow: rowOf(1_000), matches: 1 },
    ]
  }

  #dueAt(number: number): string {
    return new Date(this.#startMs + Math.floor((number * spreadMs) / this.count)).toISOString()
  }

  #timer(number: number) {
    return {
      namespace: namespaceOf(number),
      timerId: idOf(number),
      executeAt: this.#dueAt(number),
      callbackUrl: "http://127.0.0.1:9/",
      ...(number % everyTagged === 0 ? { tags: ["trial"], correlationId: correlationOf(number) } : {}),
    }
  }
}

const correlationOf = (number: number): string => `case-${number}`
