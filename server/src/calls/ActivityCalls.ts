// What happened over time, for charts. Stored records have all but the last minute. Each node knows that one, so this node
// asks the others, with a short timeout, and names those that do not answer.

import type { Problem } from "@punctual/api/Problem"
import {
  type ActivityAnswer,
  activitySpan,
  activityUnitMs,
  type GetActivity,
} from "@punctual/api/TimerActivity"
import type { Caller } from "@punctual/door/Caller"
import { forbidden } from "@punctual/door/Gate"
import { Effect, Result } from "effect"
import { ActivityLog, hourMs } from "../engine/activity/ActivityLog.ts"
import { Engine } from "../engine/Engine.ts"
import type { PeerActivity, UnstoredActivity } from "../ports/PeerActivity.ts"
import { StoreError } from "../ports/TimerStore.ts"
import { ActivitySums } from "./ActivitySums.ts"
import type { Call } from "./Call.ts"
import { refuseRead } from "./problemOf.ts"
import { wantedNamespaces } from "./wantedNamespaces.ts"

export interface ActivityCalls {
  readonly activity: Call<GetActivity, ActivityAnswer>
}

const askWithinMs = 500
const askedAtOnce = 16

/** `peers` is absent if only one process uses the store. */
export const makeActivityCalls = (
  peers: PeerActivity["Service"] | undefined,
): Effect.Effect<ActivityCalls, never, ActivityLog | Engine> =>
  Effect.gen(function* () {
    const log = yield* ActivityLog
    const engine = yield* Engine
    return {
      activity: ({ body, caller }) =>
        Effect.gen(function* () {
          const refused = whyNot(body, caller)
          if (refused !== undefined) return yield* Effect.fail(refused)
          const { namespaces, step, by } = body
          const { fromMs, untilMs } = activitySpan(body)
          const isWhole =
            (namespaces === undefined || namespaces.includes("*")) && caller.may("timers.read", undefined)
          const sums = new ActivitySums({
            stepMs: step,
            isWhole,
            isWanted: wantedNamespaces(caller, namespaces),
            ...(by === undefined ? {} : { by }),
          })
          // Other nodes are asked before the records are read, so that a minute that is stored meanwhile is not missed.
          const { unstored, missing } = yield* unstoredElsewhere(engine, peers)
          const unit = activityUnitMs(step) === hourMs ? "hour" : "minute"
          yield* log.read({ unit, fromMs, untilMs }, [log.unstored(), ...unstored], (record) =>
            sums.add(record),
          )
          return { from: fromMs, until: untilMs, step, ...sums.answer(), missing }
        }).pipe(
          Effect.catchTag("DocumentsError", ({ message, isFatal }) =>
            refuseRead(new StoreError({ message, isFatal })),
          ),
        ),
    }
  })

/** The hosts of all namespaces together say something about each of them. */
const whyNot = ({ namespaces = [], by }: GetActivity, caller: Caller): Problem | undefined => {
  const needed = [...namespaces, ...(by === "host" ? [undefined] : [])]
  for (const namespace of needed) {
    if (!caller.may("timers.read", namespace)) return forbidden("timers.read", namespace)
  }
  return undefined
}

const unstoredElsewhere = (
  engine: Engine["Service"],
  peers: PeerActivity["Service"] | undefined,
): Effect.Effect<{
  readonly unstored: ReadonlyArray<UnstoredActivity>
  readonly missing: ReadonlyArray<string>
}> =>
  Effect.gen(function* () {
    const { node: own, members } = engine.cluster()
    const others = members.filter(({ node, address, isLive }) => isLive && node !== own && address !== "")
    if (peers === undefined || others.length === 0) return { unstored: [], missing: [] }
    const asked = yield* Effect.forEach(
      others,
      (member) => Effect.result(Effect.timeout(peers.of(member), askWithinMs)),
      { concurrency: askedAtOnce },
    )
    return {
      unstored: asked.flatMap((answer) => (Result.isSuccess(answer) ? [answer.success] : [])),
      missing: others.flatMap(({ node }, place) => {
        const answer = asked[place]
        return answer !== undefined && Result.isSuccess(answer) ? [] : [node]
      }),
    }
  })
