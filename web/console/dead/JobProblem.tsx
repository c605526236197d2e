import { Link } from "../../kit/Link.tsx"
import { ProblemScreen } from "../../kit/ProblemScreen.tsx"
import { Screen } from "../../kit/Screen.tsx"
import { ApiProblem } from "../../kit/serviceCall.ts"
import { hrefOf } from "../location.ts"

export interface JobProblemProps {
  readonly error: Error
  readonly onRetry: () => void
}

/** In place of jobs that cannot be shown. */
export const JobProblem = ({ error, onRetry }: JobProblemProps) => {
  const status = error instanceof ApiProblem ? error.status : undefined
  // The service answers 400 to a text that cannot be the id of a job.
  if (status === 404 || status === 400) {
    return (
      <Screen
        kind="noMatch"
        title="There is no such job"
        actions={
          <Link className="button" href={hrefOf("jobs")}>
            All bulk jobs
          </Link>
        }
      >
        Jobs are kept for 30 days after their end. You see only jobs whose namespaces your key may read.
      </Screen>
    )
  }
  return <ProblemScreen what="The jobs" error={error} onRetry={onRetry} />
}
