// Reports the size of a growing file at intervals, for work that takes minutes and cannot report its own progress.
import { statSync } from "node:fs"
import { Effect, type Scope } from "effect"
import { Output } from "../frame/CommandRuntime.ts"
import { bytesShown } from "../frame/figures.ts"

const tellEveryMs = 2_000

/** Reports until the scope closes. `expectedBytes` is the approximate final size. */
export const tellGrowth = (
  file: string,
  expectedBytes: number,
): Effect.Effect<void, never, Output | Scope.Scope> =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    const tell = Effect.suspend(() =>
      remark(`${bytesShown(sizeOf(file))} of about ${bytesShown(expectedBytes)} …`),
    )
    yield* Effect.forkScoped(Effect.ignore(Effect.forever(Effect.delay(tell, tellEveryMs))))
  })

/** 0 if the file does not exist. */
export const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
