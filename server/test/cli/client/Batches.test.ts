// Calls that repeat while there is more to do. They count everything, report progress, and always end.
import { expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { type Batch, type Repeating, repeatWhileMore } from "../../../src/cli/client/Batches.ts"
import { CommandFailed, Output } from "../../../src/cli/frame/CommandRuntime.ts"

type Done = Batch<"done" | "leftAlone">

const batch = (done: number, leftAlone: number, more: boolean): Done => ({
  counts: { done, leftAlone },
  more,
})

const repeated = async (
  answers: ReadonlyArray<Done | CommandFailed>,
  more: Partial<Repeating<"done" | "leftAlone">> = {},
) => {
  const remarks: Array<string> = []
  let calls = 0
  const begins: Array<string | undefined> = []
  const call = Effect.fnUntraced(function* (from: string | undefined) {
    begins.push(from)
    const answer = answers[calls++]
    if (answer === undefined) return yield* Effect.die(new Error("it was called once more"))
    return answer instanceof CommandFailed ? yield* Effect.fail(answer) : answer
  })
  const result = await Effect.runPromise(
    repeatWhileMore(
      { none: { done: 0, leftAlone: 0 }, isProgress: ({ done }) => done > 0, ...more },
      call,
    ).pipe(
      Effect.result,
      Effect.provideService(Output, {
        columns: undefined,
        answer: () => Effect.void,
        redraw: () => Effect.void,
        remark: (text) => Effect.sync(() => void remarks.push(text)),
        untilStopped: Effect.succeed(Effect.never),
      }),
    ),
  )
  return { calls, begins, remarks, result }
}

test("a call is repeated while there is more to do, and the counts are added up", async () => {
  const { calls, remarks, result } = await repeated([
    batch(5, 0, true),
    batch(5, 1, true),
    batch(2, 2, false),
  ])
  expect([calls, remarks]).toEqual([3, ["5 done, 0 left alone …", "10 done, 1 left alone …"]])
  expect(result).toEqual(Result.succeed(batch(12, 3, false)))
})

test("a call that does nothing although there is more to do is the last one", async () => {
  const { calls, result } = await repeated([batch(5, 0, true), batch(0, 3, true)])
  expect([calls, result]).toEqual([2, Result.succeed(batch(5, 3, true))])
})

test("one that says where to go on is followed by the next, even if it did nothing", async () => {
  const empty = { ...batch(0, 0, true), next: "a" }
  const { begins, result } = await repeated([empty, { ...empty, next: "b" }, batch(2, 0, false)])
  expect([begins, result]).toEqual([[undefined, "a", "b"], Result.succeed(batch(2, 0, false))])
})

test("no call follows once everything that existed at the start is done", async () => {
  const answers = [batch(5, 0, true), batch(5, 0, true)]
  const { calls, result } = await repeated(answers, { isEnough: ({ done }) => done >= 10 })
  expect([calls, result]).toEqual([2, Result.succeed(batch(10, 0, false))])
})

test("items that others add are not included: after the initial number the calls end and say that there is more", async () => {
  const isOutrun = ({ done }: Done["counts"]) => done >= 10
  const ended = await repeated([batch(5, 0, true), batch(5, 0, true)], { isOutrun })
  expect([ended.calls, ended.result]).toEqual([2, Result.succeed(batch(10, 0, true))])
  const complete = await repeated([batch(5, 0, true), batch(5, 0, false)], { isOutrun })
  expect(complete.result).toEqual(Result.succeed(batch(10, 0, false)))
})

test("the report of a failed call includes what was done before it", async () => {
  const failure = new CommandFailed({ message: "Gone." })
  const first = await repeated([failure])
  expect(Result.isFailure(first.result) && first.result.failure).toEqual(failure)
  const third = await repeated([batch(5, 0, true), batch(5, 1, true), failure])
  expect(Result.isFailure(third.result) && third.result.failure).toEqual(
    new CommandFailed({ message: "Gone. Before that: 10 done, 1 left alone." }),
  )
})
