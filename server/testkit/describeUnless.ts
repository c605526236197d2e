// Tests that not every machine can run. A skipped test has the reason in its name. The test runner prints the reason,
// and counts a skip without one as a failure.
import { describe } from "bun:test"

/** Runs the tests, unless there is a reason not to. */
export const describeUnless = (reason: string | undefined, name: string, body: () => void): void => {
  if (reason === undefined) describe(name, body)
  else describe.skip(`${name} (skipped: ${reason})`, body)
}
