/** The frame of all pages: navigation, the switches that hold everywhere, sign-in, and the page itself. */
import { useQueryClient } from "@tanstack/react-query"
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react"
import { type CappedCount, countText } from "../kit/countText.ts"
import { LostContact } from "../kit/LostContact.tsx"
import { Navigation } from "../kit/Navigation.tsx"
import { NoAnswer } from "../kit/NoAnswer.tsx"
import { goTo } from "../kit/places.ts"
import { Loading } from "../kit/Screen.tsx"
import { ShortcutHelp } from "../kit/ShortcutHelp.tsx"
import { SignIn } from "../kit/SignIn.tsx"
import { useMay } from "../kit/self.ts"
import { whenSignInNeeded } from "../kit/serviceCall.ts"
import { useShortcuts } from "../kit/shortcuts.ts"
import { Toasts } from "../kit/toasts.tsx"
import { useEventStream } from "../kit/useEvents.ts"
import { entries } from "./entries.ts"
import { hrefOf, usePlace } from "./location.ts"
import type { PageName } from "./pageNames.ts"
import { ServiceBanner } from "./ServiceBanner.tsx"
import { shortcuts } from "./shortcuts.ts"
import { TimerHelp } from "./TimerHelp.tsx"
import { timerEvents } from "./timerEvents.ts"
import { TimersPage } from "./timers/TimersPage.tsx"
import { deadLettersText, useDeadCount } from "./useDeadCount.ts"

const TimerPage = lazy(() => import("./timer/TimerPage.tsx"))
const NewTimerPage = lazy(() => import("./new/NewTimerPage.tsx"))
const DeadLettersPage = lazy(() => import("./dead/DeadLettersPage.tsx"))
const JobsPage = lazy(() => import("./dead/JobsPage.tsx"))
const NamespacesPage = lazy(() => import("./namespaces/NamespacesPage.tsx"))
const NamespacePage = lazy(() => import("./namespaces/NamespacePage.tsx"))
const StatusPage = lazy(() => import("./status/StatusPage.tsx"))
const KeysPage = lazy(() => import("./keys/KeysPage.tsx"))

const pages: Readonly<Record<PageName, ReactNode>> = {
  timers: <TimersPage />,
  timer: <TimerPage />,
  new: <NewTimerPage />,
  "dead-letters": <DeadLettersPage />,
  jobs: <JobsPage />,
  namespaces: <NamespacesPage />,
  namespace: <NamespacePage />,
  status: <StatusPage />,
  keys: <KeysPage />,
}

const entriesWith = (dead: CappedCount) =>
  entries.map((entry) =>
    entry.page === "dead-letters"
      ? { ...entry, count: { text: countText(dead), title: deadLettersText(dead) } }
      : entry,
  )

export const App = () => {
  const { page } = usePlace()
  const queries = useQueryClient()
  const [needsKey, setNeedsKey] = useState(false)
  const [showsHelp, setShowsHelp] = useState(false)
  const dead = useDeadCount()
  useEventStream(useMay()("timers.read") ? timerEvents : undefined)
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
    g: () => goTo(hrefOf("timers")),
    n: () => goTo(hrefOf("new")),
    ...Object.fromEntries(
      entries.map(({ page: target }, at) => [String(at + 1), () => goTo(hrefOf(target))]),
    ),
  })
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Navigation
        name="Punctual"
        entries={dead === undefined || dead.count === 0 ? entries : entriesWith(dead)}
        page={page}
        writing="timers.write"
        onHelp={() => setShowsHelp(true)}
      />
      <main id="main" tabIndex={-1}>
        <ServiceBanner />
        <NoAnswer>
          <Suspense fallback={<Loading />}>{pages[page]}</Suspense>
        </NoAnswer>
      </main>
      <Toasts>
        <LostContact />
      </Toasts>
      {showsHelp && (
        <ShortcutHelp shortcuts={shortcuts} onClose={() => setShowsHelp(false)}>
          <TimerHelp />
        </ShortcutHelp>
      )}
      {needsKey && <SignIn isAgain={queries.getQueryData(["self"]) !== undefined} />}
    </div>
  )
}
