// A few sessions of a database that calls share, in order of arrival. Drivers reconnect by themselves, but they do not
// bound a call. So a call that takes too long fails here, and its session is dropped with everything that hangs on it.
// No wait and no queue is unbounded.

/** In this process: the limit for a call, from the moment it has a session. Leases last longer than this. */
export const callTimeoutMs = 4_000

/** In this process: the limit for the wait for a session, and how many calls may wait for one. */
export const waitTimeoutMs = 4_000
export const mostWaiting = 1_000

/** A call took too long. Its result is unknown. */
export class TimedOut extends Error {}

/** What a pool must know about the sessions of its database. */
export interface SessionKind<Session> {
  /** Connects when the session is first used. */
  open(): Session
  close(session: Session): Promise<void>
  /** Whether the session cannot be used any more after this error. */
  isBroken(error: unknown): boolean
}

interface Waiting<Session> {
  readonly take: (session: Session) => void
  readonly fail: (error: TimedOut) => void
  readonly timer: ReturnType<typeof setTimeout>
}

export class SessionPool<Session> {
  readonly #kind: SessionKind<Session>
  readonly #callTimeoutMs: number
  readonly #idle: Array<Session> = []
  readonly #open = new Set<Session>()
  readonly #waiting: Array<Waiting<Session>> = []

  constructor(kind: SessionKind<Session>, size: number, timeoutMs = callTimeoutMs) {
    this.#kind = kind
    this.#callTimeoutMs = timeoutMs
    for (let made = 0; made < size; made++) this.#idle.push(this.#made())
  }

  /** Runs `use` on a session of its own until it is done, or has taken too long. */
  async run<A>(use: (session: Session) => Promise<A>): Promise<A> {
    const session = this.#idle.pop() ?? (await this.#turn())
    try {
      const result = await within(this.#callTimeoutMs, use(session))
      this.#giveBack(session)
      return result
    } catch (error) {
      const isLost = error instanceof TimedOut || this.#kind.isBroken(error)
      this.#giveBack(isLost ? this.#replaced(session) : session)
      throw error
    }
  }

  /** Closes all sessions. Calls that still run or wait fail. */
  async close(): Promise<void> {
    for (const { fail, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      fail(new TimedOut("the store is closed"))
    }
    await Promise.all([...this.#open].map((session) => this.#kind.close(session).catch(() => {})))
  }

  #turn(): Promise<Session> {
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

  #giveBack(session: Session): void {
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#idle.push(session)
      return
    }
    clearTimeout(next.timer)
    next.take(session)
  }

  #replaced(session: Session): Session {
    this.#open.delete(session)
    // The close may hang, so this does not wait for it.
    this.#kind.close(session).catch(() => {})
    return this.#made()
  }

  #made(): Session {
    const session = this.#kind.open()
    this.#open.add(session)
    return session
  }
}

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
