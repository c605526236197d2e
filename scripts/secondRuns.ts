// Tells a busy machine from a defect. A test that starts programs can fail only because the machine was busy. So a file
// with a failed test of such a group runs again, alone. If it passes, its failures are reported as unsteady: by name,
// with their messages, and they do not fail the run.
//
// Four rules keep this honest. A broken promise of the product (InvariantChecker, CallChecker) is a failure, whatever
// happens later. So is a random case that fails: another run would try other cases. The groups fast and long have no
// second run: they start no program. And if many files fail, the code is wrong, not the machine: then no file runs again.
import type { Failure, Result } from "./judge.ts"
import { type Group, groups } from "./testGroups.ts"

const mostFiles = 3

/** Every line of the checkers of the product's promises has the first words, every failed property the others. */
const finalWords = ["broken promise", "Property failed"]

/** The results after the second runs. `runAlone` runs one file. */
export const withSecondRuns = async (
  results: ReadonlyArray<Result>,
  runAlone: (group: Group, file: string) => Promise<Result>,
): Promise<ReadonlyArray<Result>> => {
  const files = new Set(results.flatMap((result) => filesThatMayRunAgain(result)))
  if (files.size === 0 || files.size > mostFiles) return results
  const after: Array<Result> = []
  for (const result of results) after.push(await secondRunOf(result, runAlone))
  return after
}

const secondRunOf = async (
  result: Result,
  runAlone: (group: Group, file: string) => Promise<Result>,
): Promise<Result> => {
  const group = groupOf(result)
  const [file] = filesThatMayRunAgain(result)
  if (group === undefined || file === undefined) return result
  const second = await runAlone(group, file)
  return second.failures.length > 0 ? result : { ...second, unsteady: result.failures }
}

/** The file of a run, if all its failures may come from a busy machine. Runs of such groups have one file each. */
const filesThatMayRunAgain = (result: Result): ReadonlyArray<string> => {
  const group = groupOf(result)
  if (group === undefined || group === "fast" || group === "long" || result.secondsByFile.size > 1) return []
  const files = new Set(result.failures.flatMap(({ file }) => (file === undefined ? [] : [file])))
  return files.size === 1 && result.failures.every(mayComeFromTheMachine) ? [...files] : []
}

const mayComeFromTheMachine = ({ message }: Failure): boolean =>
  !finalWords.some((words) => message.includes(words))

const groupOf = ({ title }: Result): Group | undefined => groups.find((group) => group === title)
