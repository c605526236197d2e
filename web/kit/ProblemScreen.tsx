/** What a page shows if the service refused to give its data, or could not. */
import { Button } from "./Button.tsx"
import { Screen } from "./Screen.tsx"
import { ApiProblem } from "./serviceCall.ts"

export interface ProblemScreenProps {
  /** What could not be loaded: "The namespaces". */
  readonly what: string
  readonly error: Error
  readonly onRetry: () => void
}

export const ProblemScreen = ({ what, error, onRetry }: ProblemScreenProps) =>
  error instanceof ApiProblem && error.status === 403 ? (
    <Screen kind="forbidden" title="Your key may not see this">
      {error.message}
    </Screen>
  ) : (
    <Screen
      kind="failed"
      title={`${what} could not be loaded`}
      actions={<Button onClick={onRetry}>Try again</Button>}
    >
      {error.message}
    </Screen>
  )
