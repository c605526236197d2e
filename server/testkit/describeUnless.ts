// Tests that not every machine can run. A skip carries its reason in its name: the runner of the tests prints it, and
// counts a skip without one as a failure.
import { describe } from "bun:test"

/** Runs the tests unless there is a reason against it. */
export const describeUnless = (reason: string | undefined, name: string, body: () => void): void => {
  if (reason === undefined) describe(name, body)
  else describe.skip(`${name} (skipped: ${reason})`, body)
}
