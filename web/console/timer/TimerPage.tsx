/** One timer: what is the matter with it, what happened when, what it carries, and what can be done with it. */
import { useQuery } from "@tanstack/react-query"
import { Button } from "../../kit/Button.tsx"
import { CopyButton } from "../../kit/CopyButton.tsx"
import { Crumbs } from "../../kit/Crumbs.tsx"
import { classes } from "../../kit/classes.ts"
import { JsonView } from "../../kit/JsonView.tsx"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { useIsTimeKnown, useNow } from "../../kit/now.ts"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { StaleBanner } from "../../kit/StaleBanner.tsx"
import { useMay } from "../../kit/self.ts"
import { ApiProblem } from "../../kit/serviceCall.ts"
import { useEventInterval, useWhenEvents } from "../../kit/useEvents.ts"
import { getTimer, type Timer, type TimerWithPayload } from "../api.ts"
import { hrefOf, usePlace } from "../location.ts"
import { PausedNote } from "../PausedNote.tsx"
import { StateBadge } from "../timers/StateBadge.tsx"
import { usePausedAmong } from "../useNamespace.ts"
import { Lives } from "./Lives.tsx"
import { policyText } from "./policyText.ts"
import { summaryOf } from "./summary.ts"
import { Timeline } from "./Timeline.tsx"
import { TimerActions } from "./TimerActions.tsx"
import "./timer.css"

const everyMs = 2_000
const soonestMs = 300

const TimerPage = () => {
  const { parameters } = usePlace()
  const namespace = parameters.get("namespace") ?? ""
  const timerId = parameters.get("id") ?? ""
  const live = useEventInterval(everyMs)
  const { data, error, refetch, isPending } = useQuery({
    queryKey: ["timer", namespace, timerId],
    queryFn: ({ signal }) => getTimer(namespace, timerId, signal),
    // A finished timer changes only if somebody uses its id again.
    refetchInterval: ({ state }) =>
      live !== false && state.data?.timer.finishedAt !== undefined ? 5 * everyMs : live,
  })
  useWhenEvents(
    ({ events, hasMore }) =>
      hasMore || events.some((event) => event["namespace"] === namespace && event["timerId"] === timerId),
    () => void refetch(),
    soonestMs,
  )
  if (data !== undefined)
    return <TimerView found={data} staleBecause={error} onChange={() => void refetch()} />
  if (isPending) return <Loading />
  return <TimerProblem error={error} onRetry={() => void refetch()} />
}

export default TimerPage

const TimerProblem = ({ error, onRetry }: { readonly error: Error | null; readonly onRetry: () => void }) => {
  const status = error instanceof ApiProblem ? error.status : 0
  const toList = <Link href={hrefOf("timers")}>All timers</Link>
  if (status === 404) {
    return (
      <Screen kind="noMatch" title="There is no such timer" actions={toList}>
        No timer with this id is pending, and the history has none. History is kept for a limited time.
      </Screen>
    )
  }
  if (status === 403) {
    return (
      <Screen kind="forbidden" title="Your key may not see this timer" actions={toList}>
        {error?.message}
      </Screen>
    )
  }
  return (
    <Screen
      kind="failed"
      title="The timer could not be loaded"
      actions={<Button onClick={onRetry}>Try again</Button>}
    >
      {error?.message}
    </Screen>
  )
}

interface TimerViewProps {
  readonly found: TimerWithPayload
  readonly staleBecause: Error | null
  readonly onChange: () => void
}

const TimerView = ({ found, staleBecause, onChange }: TimerViewProps) => {
  const { timer } = found
  const isPaused = usePausedAmong([timer.namespace]).length > 0
  return (
    <>
      <Crumbs
        above={[
          { name: "Timers", href: hrefOf("timers") },
          { name: timer.namespace, href: hrefOf("timers", { q: `namespace:${timer.namespace}` }) },
        ]}
      />
      <header className="page-head">
        <h1>{timer.timerId}</h1>
        <StateBadge timer={timer} isPaused={isPaused} />
        <div className="page-actions">
          <TimerActions found={found} onChange={onChange} />
        </div>
      </header>
      <StaleBanner error={staleBecause} />
      <SummaryCard timer={timer} isPaused={isPaused} />
      <div className="timer-columns">
        <div className="timer-main">
          <Timeline timer={timer} />
          <Payload found={found} />
          <Lives timer={timer} />
        </div>
        <Details timer={timer} />
      </div>
    </>
  )
}

interface SummaryCardProps {
  readonly timer: Timer
  /** Its namespace is paused. */
  readonly isPaused: boolean
}

const SummaryCard = ({ timer, isPaused }: SummaryCardProps) => {
  const { tone, title, text } = summaryOf(timer, useNow(), isPaused)
  // A pending timer is described by how far away its time is.
  const isKnown = useIsTimeKnown() || timer.finishedAt !== undefined
  return (
    <section
      className={classes("summary", `summary-${isKnown ? tone : "neutral"}`)}
      aria-label="What is the matter"
    >
      <h2 className={classes(!isKnown && "time-unknown")}>{title}</h2>
      {text !== "" && <p className={classes(!isKnown && "time-unknown")}>{text}</p>}
      {timer.state === "pending" && timer.waiting === undefined && (
        <PausedNote namespaces={[timer.namespace]} meaning="the timer will wait" />
      )}
      {timer.waiting !== undefined && (
        <p className="muted">
          It has waited since <Moment at={timer.waiting.since} show="exact" />. {whereToLook(timer)}
        </p>
      )}
    </section>
  )
}

/** The page on which the reader can change what the timer waits for. */
const whereToLook = ({ namespace, waiting }: Timer) => {
  switch (waiting?.reason) {
    case "paused":
    case "sealed":
      return <Link href={hrefOf("namespace", { name: namespace })}>Open the namespace {namespace}</Link>
    case "servicePaused":
    case "breaker":
      return <Link href={hrefOf("status")}>Open Status</Link>
    default:
      return null
  }
}

const Payload = ({ found: { timer, payloadText } }: { readonly found: TimerWithPayload }) => {
  const may = useMay()
  const isGone = timer.state === "delivered" || timer.state === "cancelled"
  return (
    <section className="card" aria-labelledby="payload-title">
      <header className="card-head">
        <h2 id="payload-title">Payload</h2>
      </header>
      <div className="card-body">
        {payloadText !== undefined ? (
          <JsonView text={payloadText} what="the payload" />
        ) : !may("payload.read", timer.namespace) ? (
          <p className="muted">Your key may not read payloads.</p>
        ) : (
          <p className="muted">
            {isGone
              ? "The payload is no longer kept: the service removes it when a timer finishes."
              : "This timer has no payload."}
          </p>
        )}
      </div>
    </section>
  )
}

const Details = ({ timer }: { readonly timer: Timer }) => (
  <section className="card timer-side" aria-labelledby="details-title">
    <header className="card-head">
      <h2 id="details-title">Details</h2>
    </header>
    <dl className="facts card-body">
      <dt>Due</dt>
      <dd>
        <Moment at={timer.executeAt} show="both" />
      </dd>
      {timer.fireAt !== undefined && timer.fireAt !== timer.executeAt && (
        <>
          <dt>Next attempt</dt>
          <dd>
            <Moment at={timer.fireAt} show="both" />
          </dd>
        </>
      )}
      <TargetFacts target={timer.target} />
      <dt>Retries</dt>
      <dd>{policyText(timer.retryPolicy)}</dd>
      {timer.expireAfter !== undefined && (
        <>
          <dt>Expires</dt>
          <dd>
            {timer.expireAfter} after the due time
            {timer.onExpire === "drop" ? ", then it is dropped" : ", then it is a dead letter"}
          </dd>
        </>
      )}
      {timer.tags !== undefined && timer.tags.length > 0 && (
        <>
          <dt>Tags</dt>
          <dd className="timer-tags">
            {timer.tags.map((tag) => (
              <Link
                key={tag}
                href={hrefOf("timers", { q: `namespace:${timer.namespace} tag:${JSON.stringify(tag)}` })}
              >
                <span className="tag">{tag}</span>
              </Link>
            ))}
          </dd>
        </>
      )}
      <Copied name="Correlation id" value={timer.correlationId} />
      <Copied name="Fire id" value={timer.fireId} />
      <dt>Revision</dt>
      <dd className="figures">{timer.revision}</dd>
      <dt>Created</dt>
      <dd>
        <Moment at={timer.createdAt} show="both" />
      </dd>
      {timer.traceparent !== undefined && <Copied name="Trace" value={timer.traceparent} />}
    </dl>
  </section>
)

const Copied = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <>
    <dt>{name}</dt>
    <dd className="copied">
      <code>{value}</code>
      <CopyButton text={value} what={name.toLowerCase()} />
    </dd>
  </>
)

const TargetFacts = ({ target }: { readonly target: Timer["target"] }) => {
  if (target.type !== "webhook") {
    return (
      <>
        <dt>Target</dt>
        <dd>{target.type === "event" ? "An event on the bus" : "A handler in the program"}</dd>
      </>
    )
  }
  const { method = "POST", url, headers } = target
  return (
    <>
      <dt>Target</dt>
      <dd>
        {method} <code>{url}</code>
      </dd>
      {headers !== undefined && Object.keys(headers).length > 0 && (
        <>
          <dt>Headers</dt>
          <dd>
            {Object.entries(headers).map(([name, value]) => (
              <div key={name}>
                <code>
                  {name}: {value}
                </code>
              </div>
            ))}
          </dd>
        </>
      )}
      {target.timeout !== undefined && (
        <>
          <dt>Time limit</dt>
          <dd>{target.timeout}</dd>
        </>
      )}
    </>
  )
}
