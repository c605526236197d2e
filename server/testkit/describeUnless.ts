// Tests that not every machine can run. A skipped test has the reason in its name. The test runner prints the reason,
// and counts a skip without one as a failure.
import { describe, test } from "bun:test"

/** Runs the tests, unless there is a reason not to. */
export const describeUnless = (reason: string | undefined, name: string, body: () => void): void => {
  if (reason === undefined) describe(name, body)
  else describe.skip(`${name} (skipped: ${reason})`, body)
}

/**
 * Runs the tests, unless the machine lacks a program that they need. `missing` says what it lacks. In CI that is a
 * failure. Elsewhere it is a skip.
 */
export const describeNeeding = (missing: string | undefined, name: string, body: () => void): void => {
  if (missing === undefined || process.env["CI"] === undefined) describeUnless(missing, name, body)
  else {
    test(name, () => {
      throw new Error(missing)
    })
  }
}
