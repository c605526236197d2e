// The service as a whole, for operators: its time, its program and settings, and pausing and resuming all firing on all
// nodes.
import type { AuditDetails } from "@punctual/api/AuditRecord"
import { formatInstant } from "@punctual/api/Instant"
import { type Problem, RestoredFromBackup } from "@punctual/api/Problem"
import type { GetService, PauseService, ResumeService, ServiceAnswer } from "@punctual/api/Service"
import { Effect } from "effect"
import { pauseService, resumeService } from "../domain/editSettings.ts"
import type { ServiceSettings } from "../domain/NamespaceSettings.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { serviceRecord } from "../engine/namespaces/SettingsRecords.ts"
import { WallClock } from "../ports/WallClock.ts"
import type { Asked, Call } from "./Call.ts"
import { refuseChange, refuseRead } from "./problemOf.ts"

export interface CallsAboutService {
  readonly get: Call<GetService, ServiceAnswer>
  readonly pause: Call<PauseService, ServiceAnswer>
  readonly resume: Call<ResumeService, ServiceAnswer>
}

/** What does not change while the program runs. */
export interface AboutService extends Pick<ServiceAnswer, "build"> {
  /** The settings in force, without secrets. */
  readonly settings: NonNullable<ServiceAnswer["settings"]>
}

export const makeServiceCalls = (
  about: AboutService | undefined,
): Effect.Effect<CallsAboutService, never, NamespaceDirectory | WallClock> =>
  Effect.gen(function* () {
    const directory = yield* NamespaceDirectory
    const wall = yield* WallClock
    const build = about?.build === undefined ? {} : { build: about.build }
    const answerOf = ({ pause }: ServiceSettings): ServiceAnswer => ({
      now: wall.now(),
      ...(pause === undefined ? {} : { pause: shownPause(pause) }),
      ...build,
    })

    const changed = (
      { note }: Asked<unknown>,
      edit: (settings: ServiceSettings, nowMs: number) => Effect.Effect<ServiceSettings, Problem>,
    ): Effect.Effect<ServiceAnswer, Problem> =>
      Effect.suspend(() => {
        const nowMs = wall.now()
        return directory.change(serviceRecord, nowMs, (settings) => {
          note?.({ before: pauseDetails(settings) })
          return edit(settings, nowMs)
        })
      }).pipe(
        Effect.tap(({ settings }) => Effect.sync(() => note?.({ after: pauseDetails(settings) }))),
        Effect.map(({ settings }) => answerOf(settings)),
        Effect.catch(refuseChange),
      )

    return {
      get: ({ body }) =>
        directory.stored(serviceRecord).pipe(
          Effect.map(({ settings }) => ({
            ...answerOf(settings),
            ...(body.settings === true ? { settings: about?.settings ?? [] } : {}),
          })),
          Effect.catch(refuseRead),
        ),
      pause: (asked) =>
        changed(asked, (settings, nowMs) => Effect.succeed(pauseService(settings, asked.body.reason, nowMs))),
      resume: (asked) =>
        changed(asked, (settings, nowMs) =>
          settings.pause?.kind === "restored" && asked.body.fireOverdue !== true
            ? Effect.fail(restored())
            : Effect.succeed(resumeService(settings, nowMs)),
        ),
    }
  })

const shownPause = ({
  sinceMs,
  kind,
  reason,
}: NonNullable<ServiceSettings["pause"]>): NonNullable<ServiceAnswer["pause"]> => ({
  since: sinceMs,
  kind,
  ...(reason === undefined ? {} : { reason }),
})

const pauseDetails = ({ pause }: ServiceSettings): NonNullable<AuditDetails["before"]> => {
  if (pause === undefined) return { paused: false }
  const { sinceMs, ...rest } = pause
  return { paused: true, since: formatInstant(sinceMs), ...rest }
}

const restored = (): Problem =>
  new RestoredFromBackup({
    detail:
      "All timers that became due since the backup would fire at once, some of them for the second time. Either stop the service and decide about them with punctual restore --due-before <instant> fire, dead or discard. Or resume with fireOverdue: true to fire all overdue timers.",
  })
