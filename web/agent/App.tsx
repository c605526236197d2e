/** The frame of the agent's pages: navigation, the tenant, sign-in, and the page itself. */
import { useQueryClient } from "@tanstack/react-query"
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react"
import { LostContact } from "../kit/LostContact.tsx"
import { Navigation, type NavigationEntry } from "../kit/Navigation.tsx"
import { NoAnswer } from "../kit/NoAnswer.tsx"
import { goTo } from "../kit/places.ts"
import { Loading, Screen } from "../kit/Screen.tsx"
import { ShortcutHelp, type ShownShortcut } from "../kit/ShortcutHelp.tsx"
import { SignIn } from "../kit/SignIn.tsx"
import { useMay, useSelf } from "../kit/self.ts"
import { whenSignInNeeded } from "../kit/serviceCall.ts"
import { useShortcuts } from "../kit/shortcuts.ts"
import { Toasts } from "../kit/toasts.tsx"
import { useEventStream } from "../kit/useEvents.ts"
import type { AgentPageName } from "./agentPageNames.ts"
import { agentHref, useAgentPlace } from "./agentPlaces.ts"
import { callEvents } from "./callEvents.ts"
import { CallsPage } from "./calls/CallsPage.tsx"
import { NoTenant, TenantSwitch } from "./TenantSwitch.tsx"
import { useTenant } from "./tenant.ts"
import "./agent.css"

const CallDetailPage = lazy(() => import("./call/CallDetailPage.tsx"))
const RequestPage = lazy(() => import("./request/RequestPage.tsx"))

const pages: Readonly<Record<AgentPageName, (tenant: string) => ReactNode>> = {
  calls: (tenant) => <CallsPage tenant={tenant} />,
  call: (tenant) => <CallDetailPage tenant={tenant} />,
  request: (tenant) => <RequestPage tenant={tenant} />,
}

const entriesOf = (tenant: string): ReadonlyArray<NavigationEntry> => [
  { page: "calls", href: agentHref("calls", tenant), label: "Calls", icon: "jobs", also: ["call"] },
  { page: "request", href: agentHref("request", tenant), label: "Request", icon: "bolt" },
]

const shortcuts: ReadonlyArray<ShownShortcut> = [
  ["/", "Search"],
  ["j  k", "Next and previous row"],
  ["Enter", "Open the row"],
  ["s", "Star the row"],
  ["x", "Select the row"],
  ["n", "New request"],
  ["g", "Go to Calls"],
  ["t", "Tenant"],
  ["p", "Stop or start live updates"],
  ["z", "Time zone"],
  ["Ctrl Enter", "Submit the request"],
  ["?", "This help"],
  ["Esc", "Close, or leave the row"],
]

export const App = () => {
  const { page } = useAgentPlace()
  const tenant = useTenant()
  const queries = useQueryClient()
  const [needsKey, setNeedsKey] = useState(false)
  const [showsHelp, setShowsHelp] = useState(false)
  const mayRead = useMay()("calls.read", tenant)
  useEventStream(tenant !== undefined && mayRead ? callEvents(tenant) : undefined)
  useEffect(
    () =>
      whenSignInNeeded((isNeeded) => {
        setNeedsKey(isNeeded)
        if (!isNeeded) void queries.invalidateQueries()
      }),
    [queries],
  )
  useShortcuts({
    "?": () => setShowsHelp(true),
    ...(tenant === undefined
      ? {}
      : {
          g: () => goTo(agentHref("calls", tenant)),
          n: () => goTo(agentHref("request", tenant)),
        }),
  })
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Navigation
        name="Service Agent"
        entries={entriesOf(tenant ?? "")}
        page={page}
        writing="calls.write"
        onHelp={() => setShowsHelp(true)}
      >
        {tenant !== undefined && <TenantSwitch tenant={tenant} />}
      </Navigation>
      <main id="main" tabIndex={-1}>
        <NoAnswer>
          <TenantPage tenant={tenant} page={page} />
        </NoAnswer>
      </main>
      <Toasts>
        <LostContact />
      </Toasts>
      {showsHelp && <ShortcutHelp shortcuts={shortcuts} onClose={() => setShowsHelp(false)} />}
      {needsKey && <SignIn isAgain={queries.getQueryData(["self"]) !== undefined} />}
    </div>
  )
}

interface TenantPageProps {
  readonly tenant: string | undefined
  readonly page: AgentPageName
}

const TenantPage = ({ tenant, page }: TenantPageProps) => {
  const isKnown = useSelf() !== undefined
  const mayRead = useMay()("calls.read", tenant)
  if (!isKnown) return <Loading />
  if (tenant === undefined) return <NoTenant />
  if (!mayRead) {
    return (
      <Screen kind="forbidden" title="Your key may not see this" isPage>
        <p>
          It needs the action <code>calls.read</code> in the tenant {tenant}. Somebody who manages keys can
          make one that has it.
        </p>
      </Screen>
    )
  }
  // Another tenant is another page: nothing of the last one may stay.
  return (
    <Suspense fallback={<Loading />}>
      <div key={tenant}>{pages[page](tenant)}</div>
    </Suspense>
  )
}
