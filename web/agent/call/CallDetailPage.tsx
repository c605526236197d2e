/** One call: what was asked for, when it was sent, what came back, and which messages that took. */
import { Link } from "../../kit/Link.tsx"
import { useNow } from "../../kit/now.ts"
import { ProblemScreen } from "../../kit/ProblemScreen.tsx"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { StaleBanner } from "../../kit/StaleBanner.tsx"
import { ApiProblem } from "../../kit/serviceCall.ts"
import type { CallDetail } from "../agentApi.ts"
import { agentHref, useAgentPlace } from "../agentPlaces.ts"
import { summaryOfCall } from "../callTexts.ts"
import { StarButton, useStar } from "../StarButton.tsx"
import { StatusBadge } from "../StatusBadge.tsx"
import { CallActions } from "./CallActions.tsx"
import { CallFacts } from "./CallFacts.tsx"
import { CallMessages } from "./CallMessages.tsx"
import { CallTimeline } from "./CallTimeline.tsx"
import { AnswerCard, RequestCard } from "./Contents.tsx"
import { useCall } from "./useCall.ts"
import "./call.css"

const CallDetailPage = ({ tenant }: { readonly tenant: string }) => {
  const { parameters } = useAgentPlace()
  const id = parameters.get("id") ?? ""
  const { data, error, isPending, refetch } = useCall(tenant, id)
  if (id === "") return <NoSuchCall tenant={tenant} />
  if (data !== undefined) {
    return <CallView found={data} staleBecause={error} onChange={() => void refetch()} />
  }
  if (isPending) return <Loading />
  if (error instanceof ApiProblem && error.status === 404) return <NoSuchCall tenant={tenant} />
  return <ProblemScreen what="The call" error={error ?? new Error("")} onRetry={() => void refetch()} />
}

export default CallDetailPage

const NoSuchCall = ({ tenant }: { readonly tenant: string }) => (
  <Screen
    kind="noMatch"
    isPage
    title="There is no such call"
    actions={<Link href={agentHref("calls", tenant)}>All calls</Link>}
  >
    The tenant {tenant} has no call with this id. Finished calls are kept for a limited time.
  </Screen>
)

interface CallViewProps {
  readonly found: CallDetail
  readonly staleBecause: Error | null
  readonly onChange: () => void
}

const CallView = ({ found, staleBecause, onChange }: CallViewProps) => {
  const { call } = found
  const { mutate: star } = useStar()
  return (
    <>
      <nav className="call-crumbs" aria-label="Path">
        <Link href={agentHref("calls", call.tenantId)}>Calls</Link>
        <span className="muted">/</span>
        <code className="muted">{call.serviceCallId}</code>
      </nav>
      <header className="page-head call-page-head">
        <div className="call-title">
          <StarButton call={call} onStar={(shown) => star(shown, { onSuccess: onChange })} />
          <h1>{call.name}</h1>
        </div>
        <StatusBadge status={call.status} />
        <CallActions found={found} onChange={onChange} />
      </header>
      <StaleBanner error={staleBecause} />
      <Summary found={found} />
      <div className="call-columns">
        <div className="call-main">
          <CallTimeline found={found} />
          <AnswerCard found={found} />
          <RequestCard found={found} />
          <CallMessages found={found} />
        </div>
        <CallFacts found={found} />
      </div>
    </>
  )
}

const Summary = ({ found: { call } }: { readonly found: CallDetail }) => {
  const { tone, title, text } = summaryOfCall(call, useNow())
  return (
    <section className={`call-summary summary-tone-${tone}`} aria-label="What became of it">
      <h2>{title}</h2>
      {text !== "" && <p>{text}</p>}
    </section>
  )
}
