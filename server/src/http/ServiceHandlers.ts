// The service as a whole for operators: its firing, stopped and resumed over all nodes, and the breakers of this one.
import { formatInstant } from "@punctual/api/Instant"
import { type Problem, RestoredFromBackup } from "@punctual/api/Problem"
import type {
  GetService,
  ListBreakers,
  ListBreakersAnswer,
  PauseService,
  ResetBreakers,
  ResetBreakersAnswer,
  ResumeService,
  ServiceAnswer,
} from "@punctual/api/Service"
import { Effect } from "effect"
import { pauseService, resumeService } from "../domain/editSettings.ts"
import type { ServiceSettings } from "../domain/NamespaceSettings.ts"
import { Engine } from "../engine/Engine.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { serviceRecord } from "../engine/namespaces/SettingsRecords.ts"
import { WallClock } from "../ports/WallClock.ts"
import type { ApiHandler } from "./ApiCall.ts"
import { refuseChange } from "./NamespaceHandlers.ts"

export interface ServiceHandlers {
  readonly "service.get": ApiHandler<GetService>
  readonly "service.pause": ApiHandler<PauseService>
  readonly "service.resume": ApiHandler<ResumeService>
  readonly "breakers.list": ApiHandler<ListBreakers>
  readonly "breakers.reset": ApiHandler<ResetBreakers>
}

const breakersShown = 1_000

export const makeServiceHandlers: Effect.Effect<
  ServiceHandlers,
  never,
  NamespaceDirectory | Engine | WallClock
> = Effect.gen(function* () {
  const directory = yield* NamespaceDirectory
  const engine = yield* Engine
  const wall = yield* WallClock

  const changed = (
    edit: (settings: ServiceSettings, nowMs: number) => Effect.Effect<ServiceSettings, Problem>,
  ): Effect.Effect<string, Problem> =>
    Effect.suspend(() => {
      const nowMs = wall.now()
      return directory.change(serviceRecord, nowMs, (settings) => edit(settings, nowMs))
    }).pipe(
      Effect.map(({ settings }) => answerOf(settings, wall.now())),
      Effect.catch(refuseChange),
    )

  return {
    "service.get": () =>
      directory.stored(serviceRecord).pipe(
        Effect.map(({ settings }) => answerOf(settings, wall.now())),
        Effect.catch(refuseChange),
      ),
    "service.pause": ({ body }) =>
      changed((settings, nowMs) => Effect.succeed(pauseService(settings, body.reason, nowMs))),
    "service.resume": ({ body }) =>
      changed((settings, nowMs) =>
        settings.pause?.kind === "restored" && body.fireOverdue !== true
          ? Effect.fail(restored())
          : Effect.succeed(resumeService(settings, nowMs)),
      ),
    "breakers.list": () =>
      Effect.sync(() => {
        const breakers = engine.breakers(breakersShown + 1)
        const answer: typeof ListBreakersAnswer.Encoded = {
          node: engine.cluster().node,
          breakers: breakers
            .slice(0, breakersShown)
            .map((breaker) => ({ ...breaker, probeInMs: Math.round(breaker.probeInMs) })),
          ...(breakers.length > breakersShown ? { more: true } : {}),
        }
        return JSON.stringify(answer)
      }),
    "breakers.reset": ({ body }) =>
      Effect.sync(() => {
        const reset = engine.closeBreakers(body.host)
        return JSON.stringify({
          node: engine.cluster().node,
          reset,
        } satisfies typeof ResetBreakersAnswer.Encoded)
      }),
  }
})

const answerOf = ({ pause }: ServiceSettings, nowMs: number): string => {
  const answer: typeof ServiceAnswer.Encoded = {
    now: formatInstant(nowMs),
    ...(pause === undefined
      ? {}
      : {
          pause: {
            since: formatInstant(pause.sinceMs),
            kind: pause.kind,
            ...(pause.reason === undefined ? {} : { reason: pause.reason }),
          },
        }),
  }
  return JSON.stringify(answer)
}

const restored = (): Problem =>
  new RestoredFromBackup({
    detail:
      "What fell due since the backup was made would fire at once, some of it for the second time. Either decide about it with the service stopped, by punctual restore --due-before <instant> fire, dead or discard; or resume with fireOverdue: true, and everything overdue fires.",
  })
