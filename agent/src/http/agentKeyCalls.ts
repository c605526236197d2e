// Who calls, and sessions of the pages: a key is exchanged for a cookie. Keys are made at the Timer, whose store has them.
import type { CreateSession, EndSessionAnswer, SelfAnswer, SessionAnswer } from "@punctual/api/Keys"
import { type Problem, Unauthorized } from "@punctual/api/Problem"
import { type Gate, KeyCaller, notValid } from "@punctual/door/Gate"
import type { KeyDirectory } from "@punctual/door/KeyDirectory"
import { Effect } from "effect"
import type { AgentRequest } from "./AgentCalls.ts"
import type { ServedCall } from "./AgentRoutes.ts"

/** The keys that are in force. */
export interface AgentKeys {
  readonly keys: KeyDirectory["Service"]
  readonly gate: Gate
}

interface WithCookie {
  readonly cookie: string
}

const withCookie = ({ cookie }: WithCookie) => ({ "set-cookie": cookie })

/** By the name of the endpoint. If there are no keys, everybody may do everything, and there are no sessions. */
export const makeAgentKeyCalls = (own: AgentKeys | undefined): Readonly<Record<string, ServedCall>> => ({
  "keys.self": { call: ({ caller }) => Effect.succeed(selfOf(caller, own?.gate.isClosed ?? false)) },
  "sessions.create": {
    call: (asked: AgentRequest<CreateSession>) => (own === undefined ? noSessions : begin(own, asked)),
    headersOf: withCookie,
  },
  "sessions.end": {
    call: (asked) => (own === undefined ? noSessions : end(own, asked)),
    headersOf: withCookie,
  },
})

const begin = (
  { keys }: AgentKeys,
  { body, receivedAt, isSecure, port }: AgentRequest<CreateSession>,
): Effect.Effect<SessionAnswer & WithCookie, Problem> => {
  const verdict = keys.judge(body.apiKey, receivedAt)
  if ("why" in verdict) return Effect.fail(notValid(verdict.why))
  const { key, mark } = verdict
  const { cookie, endsAtMs } = keys.sessions.begin(key, mark, { port, isSecure }, receivedAt)
  return Effect.succeed({ name: key.label, endsAt: endsAtMs, cookie })
}

const end = (
  { keys }: AgentKeys,
  { isSecure, port }: AgentRequest,
): Effect.Effect<EndSessionAnswer & WithCookie> =>
  Effect.succeed({ result: "ended", cookie: keys.sessions.end({ port, isSecure }) })

const noSessions: Effect.Effect<never, Problem> = Effect.fail(
  new Unauthorized({ detail: "This agent needs no key, so it has no sessions." }),
)

const selfOf = (caller: AgentRequest["caller"], keysRequired: boolean): SelfAnswer => {
  const key = caller instanceof KeyCaller ? caller.key : undefined
  const { actions, namespaces } = caller.rights
  return {
    name: caller.name,
    ...(key === undefined ? {} : { keyId: key.id }),
    keysRequired,
    actions,
    namespaces,
    ...(key?.expiresAtMs === undefined ? {} : { expiresAt: key.expiresAtMs }),
  }
}
