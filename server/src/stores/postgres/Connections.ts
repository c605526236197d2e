// A few connections that calls share, in order of arrival. The driver reconnects by itself, but it does not bound a
// call. So a call that takes too long fails here, and its connection is dropped with everything that hangs on it. No
// wait and no queue is unbounded.

import { driverTls, type PostgresTls } from "@punctual/postgres/postgresTls"
import { isBroken, TimedOut } from "./failures.ts"
import { callTimeoutMs, connectTimeoutMs, mostWaiting, waitTimeoutMs } from "./limits.ts"

export interface Place {
  readonly url: string
  readonly database: string
  readonly settings: Readonly<Record<string, string>>
  /** Absent if the connection is not encrypted. */
  readonly tls?: PostgresTls
}

interface Waiting {
  readonly take: (sql: Bun.SQL) => void
  readonly fail: (error: TimedOut) => void
  readonly timer: ReturnType<typeof setTimeout>
}

export class Connections {
  readonly #place: Place
  readonly #callTimeoutMs: number
  readonly #idle: Array<Bun.SQL> = []
  readonly #open = new Set<Bun.SQL>()
  readonly #waiting: Array<Waiting> = []

  constructor(place: Place, size: number, timeoutMs = callTimeoutMs) {
    this.#place = place
    this.#callTimeoutMs = timeoutMs
    for (let made = 0; made < size; made++) this.#idle.push(this.#connection())
  }

  /** Runs `use` on a connection of its own until it is done, or has taken too long. */
  async run<A>(use: (sql: Bun.SQL) => Promise<A>): Promise<A> {
    const sql = this.#idle.pop() ?? (await this.#turn())
    try {
      const result = await within(this.#callTimeoutMs, use(sql))
      this.#giveBack(sql)
      return result
    } catch (error) {
      this.#giveBack(isBroken(error) ? this.#replaced(sql) : sql)
      throw error
    }
  }

  /** Closes all connections. Calls that still run or wait fail. */
  async close(): Promise<void> {
    for (const { fail, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      fail(new TimedOut("the store is closed"))
    }
    await Promise.all([...this.#open].map((sql) => sql.close({ timeout: 0 }).catch(() => {})))
  }

  #turn(): Promise<Bun.SQL> {
    if (this.#waiting.length >= mostWaiting) {
      return Promise.reject(new TimedOut(`${mostWaiting} calls already wait for a connection`))
    }
    return new Promise((take, fail) => {
      const timer = setTimeout(() => {
        const index = this.#waiting.findIndex((waiting) => waiting.timer === timer)
        if (index >= 0) this.#waiting.splice(index, 1)
        fail(new TimedOut(`no connection was free within ${waitTimeoutMs} ms`))
      }, waitTimeoutMs)
      this.#waiting.push({ take, fail, timer })
    })
  }

  #giveBack(sql: Bun.SQL): void {
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#idle.push(sql)
      return
    }
    clearTimeout(next.timer)
    next.take(sql)
  }

  #replaced(sql: Bun.SQL): Bun.SQL {
    this.#open.delete(sql)
    // The close may hang, so this does not wait for it.
    sql.close({ timeout: 0 }).catch(() => {})
    return this.#connection()
  }

  /** Connects when it is first used. */
  #connection(): Bun.SQL {
    const sql = connectionTo(this.#place)
    this.#open.add(sql)
    return sql
  }
}

export const connectionTo = ({ url, database, settings, tls = { mode: "disable" } }: Place): Bun.SQL =>
  new Bun.SQL({
    adapter: "postgres",
    url,
    database,
    max: 1,
    connectionTimeout: connectTimeoutMs / 1_000,
    connection: settings,
    ...driverTls(tls),
  })

const within = async <A>(timeoutMs: number, work: Promise<A>): Promise<A> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOut(`no answer within ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
