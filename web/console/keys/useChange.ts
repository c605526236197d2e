/** A call that changes something, from a dialog: whether it runs, and why it failed. */
import { useState } from "react"
import { ApiProblem } from "../../kit/serviceCall.ts"

export interface Change {
  readonly isBusy: boolean
  readonly error: string | undefined
  /** The error of a field, by its JSON pointer. */
  readonly errorAt: (pointer: string) => string | undefined
  readonly run: (act: () => Promise<void>) => void
}

export const useChange = (): Change => {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const run = async (act: () => Promise<void>) => {
    setBusy(true)
    setProblem(undefined)
    try {
      await act()
    } catch (error) {
      setProblem(error)
    }
    setBusy(false)
  }
  const errors = problem instanceof ApiProblem ? problem.errors : []
  return {
    isBusy,
    error: problem === undefined ? undefined : problem instanceof Error ? problem.message : String(problem),
    errorAt: (pointer) =>
      errors.find(({ pointer: at }) => at === pointer || at.startsWith(`${pointer}/`))?.detail,
    run: (act) => void run(act),
  }
}
