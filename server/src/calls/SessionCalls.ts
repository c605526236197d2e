// Sessions of the console: a key is exchanged for a cookie. Only HTTP has cookies, so a program has no sessions.
import type { CreateSession, EndSession, EndSessionAnswer, SessionAnswer } from "@punctual/api/Keys"
import { KeyChangeRefused, type Problem } from "@punctual/api/Problem"
import { notValid } from "@punctual/door/Gate"
import { usualPort } from "@punctual/door/hostAndPort"
import type { KeyDirectory } from "@punctual/door/KeyDirectory"
import { Effect } from "effect"
import type { Asked, Call } from "./Call.ts"

/** The `set-cookie` header of the answer. */
interface WithCookie {
  readonly cookie: string
}

export interface SessionCalls {
  readonly create: Call<CreateSession, SessionAnswer & WithCookie>
  readonly end: Call<EndSession, EndSessionAnswer & WithCookie>
}

export interface SessionParts {
  readonly keys: KeyDirectory["Service"]
}

export const makeSessionCalls = (parts: SessionParts | undefined): SessionCalls => {
  if (parts === undefined) return { create: () => noSessions, end: () => noSessions }
  const { keys } = parts
  const placeOf = ({ isSecure = false, port = usualPort(isSecure) }: Asked<unknown>) => ({ port, isSecure })
  return {
    create: (asked) => {
      const { body, receivedAt } = asked
      const verdict = keys.judge(body.apiKey, receivedAt)
      if ("why" in verdict) return Effect.fail(notValid(verdict.why))
      const { key, mark } = verdict
      const { cookie, endsAtMs } = keys.sessions.begin(key, mark, placeOf(asked), receivedAt)
      return Effect.succeed({ name: key.label, endsAt: endsAtMs, cookie })
    },
    end: (asked) => Effect.succeed({ result: "ended", cookie: keys.sessions.end(placeOf(asked)) }),
  }
}

const noSessions: Effect.Effect<never, Problem> = Effect.fail(
  new KeyChangeRefused({ detail: "A program with the engine inside has no sessions." }),
)
