/** The page, or why there is none: the first call of every page says who the reader is, and it failed. */
import type { ReactNode } from "react"
import { Button } from "./Button.tsx"
import { useContact } from "./contact.ts"
import { Screen } from "./Screen.tsx"
import { useSelfQuery } from "./self.ts"
import { ApiProblem } from "./serviceCall.ts"

export const NoAnswer = ({ children }: { readonly children: ReactNode }) => {
  const { data, error, refetch } = useSelfQuery()
  const contact = useContact()
  if (data !== undefined) return children
  // Between two tries there is no error, and the screen stays.
  if (contact === "starting") return <Starting />
  if (error === null) return children
  const isRefused = error instanceof ApiProblem && error.status === 403
  return (
    <Screen
      isPage
      kind={isRefused ? "forbidden" : "failed"}
      title={isRefused ? "The service refuses this page" : "The service does not answer"}
      actions={<Button onClick={() => void refetch()}>Try again</Button>}
    >
      <p>{error.message}</p>
      {!isRefused && <p>The page goes on trying.</p>}
    </Screen>
  )
}

const Starting = () => (
  <Screen kind="starting" title="The service is starting" isPage>
    <p>It is getting ready. This page goes on by itself as soon as the service answers.</p>
  </Screen>
)
