// How far a file is that someone else writes, told every now and then until that is done: for work that takes minutes
// and cannot tell by itself.
import { statSync } from "node:fs"
import { Effect, type Scope } from "effect"
import { Output } from "../frame/CommandRuntime.ts"
import { bytesShown } from "../frame/figures.ts"

const tellEveryMs = 2_000

/** Until the scope closes. `expectedBytes` is about what it will be. */
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

/** 0 for a file that is not there. */
export const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
