/** What stands in place of a list that the service refused or could not give. */
import { Button } from "../../kit/Button.tsx"
import { Screen } from "../../kit/Screen.tsx"
import { ApiProblem } from "../../kit/serviceCall.ts"

/** The filters of a request in the words of the search. */
const searchNames: Readonly<Record<string, string>> = {
  namespaces: "namespace:",
  states: "state:",
  idPrefix: "id:",
  correlationId: "correlation:",
  minLateness: "late:",
  from: "The beginning of the span",
  until: "The end of the span",
}

const fieldOf = (pointer: string): string => {
  const name = pointer.split("/")[1] ?? ""
  return searchNames[name] ?? `${name}:`
}

export interface SearchProblemsProps {
  readonly problems: ReadonlyArray<string>
  readonly onClear: () => void
}

/** A search that the page need not send, because the service would refuse it. */
export const SearchProblems = ({ problems, onClear }: SearchProblemsProps) => (
  <Screen
    kind="failed"
    title="The search is not valid"
    actions={<Button onClick={onClear}>Clear the search</Button>}
  >
    {problems.map((problem) => (
      <p key={problem}>{problem}</p>
    ))}
  </Screen>
)

interface ListProblemProps {
  readonly error: Error
  readonly onRetry: () => void
  readonly onClear: () => void
}

export const ListProblem = ({ error, onRetry, onClear }: ListProblemProps) => {
  if (error instanceof ApiProblem && error.status === 403) {
    return (
      <Screen kind="forbidden" title="Your key may not see this">
        {error.message}
      </Screen>
    )
  }
  if (error instanceof ApiProblem && error.status === 400) {
    return (
      <Screen
        kind="failed"
        title="The search is not valid"
        actions={<Button onClick={onClear}>Clear the search</Button>}
      >
        {error.errors.length > 0
          ? error.errors.map(({ pointer, detail }) => (
              <p key={pointer}>
                {fieldOf(pointer)} {detail}.
              </p>
            ))
          : error.message}
      </Screen>
    )
  }
  return (
    <Screen
      kind="failed"
      title="The timers could not be loaded"
      actions={<Button onClick={onRetry}>Try again</Button>}
    >
      {error.message}
    </Screen>
  )
}
