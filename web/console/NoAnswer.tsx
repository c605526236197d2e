/** The page, or why there is none: the first call of every page says who the reader is, and it failed. */
import type { ReactNode } from "react"
import { Button } from "../kit/Button.tsx"
import { Screen } from "../kit/Screen.tsx"
import { ApiProblem } from "./api.ts"
import { useSelfQuery } from "./self.ts"

export const NoAnswer = ({ children }: { readonly children: ReactNode }) => {
  const { data, error, refetch } = useSelfQuery()
  if (data !== undefined || error === null) return children
  const isRefused = error instanceof ApiProblem && error.status === 403
  return (
    <Screen
      kind={isRefused ? "forbidden" : "failed"}
      title={isRefused ? "The service refuses this page" : "The service does not answer"}
      actions={<Button onClick={() => void refetch()}>Try again</Button>}
    >
      <p>{error.message}</p>
      {!isRefused && <p>The page goes on trying.</p>}
    </Screen>
  )
}
