// The service as a whole, for operators: its time, and pausing and resuming all firing on all nodes.
import { type Problem, RestoredFromBackup } from "@punctual/api/Problem"
import type { GetService, PauseService, ResumeService, ServiceAnswer } from "@punctual/api/Service"
import { Effect } from "effect"
import { pauseService, resumeService } from "../domain/editSettings.ts"
import type { ServiceSettings } from "../domain/NamespaceSettings.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { serviceRecord } from "../engine/namespaces/SettingsRecords.ts"
import { WallClock } from "../ports/WallClock.ts"
import type { Call } from "./Call.ts"
import { refuseChange, refuseRead } from "./problemOf.ts"

export interface ServiceCalls {
  readonly get: Call<GetService, ServiceAnswer>
  readonly pause: Call<PauseService, ServiceAnswer>
  readonly resume: Call<ResumeService, ServiceAnswer>
}

export const makeServiceCalls: Effect.Effect<ServiceCalls, never, NamespaceDirectory | WallClock> =
  Effect.gen(function* () {
    const directory = yield* NamespaceDirectory
    const wall = yield* WallClock

    const changed = (
      edit: (settings: ServiceSettings, nowMs: number) => Effect.Effect<ServiceSettings, Problem>,
    ): Effect.Effect<ServiceAnswer, Problem> =>
      Effect.suspend(() => {
        const nowMs = wall.now()
        return directory.change(serviceRecord, nowMs, (settings) => edit(settings, nowMs))
      }).pipe(
        Effect.map(({ settings }) => answerOf(settings, wall.now())),
        Effect.catch(refuseChange),
      )

    return {
      get: () =>
        directory.stored(serviceRecord).pipe(
          Effect.map(({ settings }) => answerOf(settings, wall.now())),
          Effect.catch(refuseRead),
        ),
      pause: ({ body }) =>
        changed((settings, nowMs) => Effect.succeed(pauseService(settings, body.reason, nowMs))),
      resume: ({ body }) =>
        changed((settings, nowMs) =>
          settings.pause?.kind === "restored" && body.fireOverdue !== true
            ? Effect.fail(restored())
            : Effect.succeed(resumeService(settings, nowMs)),
        ),
    }
  })

const answerOf = ({ pause }: ServiceSettings, nowMs: number): ServiceAnswer => ({
  now: nowMs,
  ...(pause === undefined
    ? {}
    : {
        pause: {
          since: pause.sinceMs,
          kind: pause.kind,
          ...(pause.reason === undefined ? {} : { reason: pause.reason }),
        },
      }),
})

const restored = (): Problem =>
  new RestoredFromBackup({
    detail:
      "All timers that became due since the backup would fire at once, some of them for the second time. Either stop the service and decide about them with punctual restore --due-before <instant> fire, dead or discard. Or resume with fireOverdue: true to fire all overdue timers.",
  })
