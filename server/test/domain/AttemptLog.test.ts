// The log of attempts: its limit, its order and its size.
import { expect, test } from "bun:test"
import fc from "fast-check"
import {
  type AttemptLog,
  attemptLogBytes,
  attemptsLogged,
  withAttempt,
  withoutAnswers,
} from "../../src/domain/AttemptLog.ts"
import { logOfText, textOfLog } from "../../src/stores/AttemptLogText.ts"

const attempt = (at: number) => ({ at, durationMs: 1, error: "x".repeat(at % 7) })

test("the log holds the latest attempts, oldest first", () => {
  fc.assert(
    fc.property(fc.nat(60), (made) => {
      let log: AttemptLog | undefined
      for (let at = 1; at <= made; at++) log = withAttempt(log, attempt(at))
      const first = Math.max(1, made - attemptsLogged + 1)
      const expected = Array.from({ length: made - first + 1 }, (_, index) => attempt(first + index))
      expect(log ?? []).toEqual(expected)
    }),
  )
})

test("the size of the log counts what it holds beyond one attempt, errors included", () => {
  expect([undefined, [], [attempt(1)]].map(attemptLogBytes)).toEqual([0, 0, 0])
  expect(attemptLogBytes([attempt(1), { at: 1, durationMs: 1, error: "x".repeat(500) }])).toBeGreaterThan(600)
})

test("the size of the log counts its answers, also of a single attempt, and the log can be read without them", () => {
  const answered = { ...attempt(1), answer: "y".repeat(512) }
  expect(attemptLogBytes([answered])).toBe(512)
  expect(attemptLogBytes([answered, attempt(1)])).toBeGreaterThan(712)
  expect(withoutAnswers([answered, attempt(2)])).toEqual([attempt(1), attempt(2)])
  const log = [attempt(1)]
  expect(withoutAnswers(log)).toBe(log)
})

test("the text of the log decodes to the same log, and the text of one attempt is a log of one", () => {
  const log = [attempt(3), { ...attempt(4), answer: "\0\u001b[31m\ufffd é" }]
  expect(logOfText(textOfLog(log))).toEqual(log)
  expect(textOfLog(log)).not.toContain("\0")
  expect(logOfText(JSON.stringify(attempt(3)))).toEqual([attempt(3)])
  expect(logOfText(JSON.stringify([{ ...attempt(3), answer: 1 }]))).toBeUndefined()
})
