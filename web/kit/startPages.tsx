/** Draws the pages of a product, and says when a call that failed is sent again. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { type ReactNode, StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { ApiProblem, isNotReady } from "./serviceCall.ts"
import { followTheme } from "./theme.ts"
import "./kit.css"
import "./form.css"
import "./frame.css"

/** Trying again at once helps only if the service was unreachable or busy. */
const helps = (failures: number, error: unknown): boolean =>
  failures < 3 &&
  !isNotReady(error) &&
  error instanceof ApiProblem &&
  (error.status === 0 || error.status >= 502)

const againMs = 5_000

/** A page that has nothing to show goes on trying, as it says. What it shows does not change by itself. */
const again = ({ state }: { readonly state: { readonly data: unknown; readonly error: Error | null } }) =>
  state.data === undefined && (isUnreachable(state.error) || isNotReady(state.error)) ? againMs : false

const isUnreachable = (error: Error | null): boolean =>
  error instanceof ApiProblem && error.code === "unreachable"

export const startPages = (app: ReactNode): void => {
  followTheme()
  const queries = new QueryClient({
    defaultOptions: {
      queries: { retry: helps, refetchInterval: again, refetchOnWindowFocus: false, staleTime: 2_000 },
      mutations: { retry: false },
    },
  })
  const root = document.getElementById("root")
  if (root === null) return
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>{app}</QueryClientProvider>
    </StrictMode>,
  )
}
