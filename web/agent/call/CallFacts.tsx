/** Everything else that is known about a call. */
import { Badge } from "../../kit/Badge.tsx"
import { CopyButton } from "../../kit/CopyButton.tsx"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { agentHref } from "../agentPlaces.ts"
import type { FoundCall } from "./Contents.tsx"

export const CallFacts = ({ found: { call } }: FoundCall) => (
  <section className="card" aria-labelledby="facts-title">
    <header className="card-head">
      <h2 id="facts-title">Details</h2>
    </header>
    <dl className="facts card-body">
      <Instant name="Submitted" at={call.submittedAt} />
      <Instant name="Due" at={call.dueAt} />
      <Instant name="Started" at={call.startedAt ?? call.runningAt} />
      <Instant name="Finished" at={call.finishedAt} />
      <dt>Tags</dt>
      <dd className="call-tags">
        {call.tags.length === 0 && <span className="muted">none</span>}
        {call.tags.map((tag) => (
          <Link key={tag} href={agentHref("calls", call.tenantId, { tag })}>
            <Badge tone="accent">{tag}</Badge>
          </Link>
        ))}
      </dd>
      <dt>Host</dt>
      <dd>
        <Link href={agentHref("calls", call.tenantId, { host: call.host })}>{call.host}</Link>
      </dd>
      <CopiedFact name="Call id" value={call.serviceCallId} />
      <CopiedFact name="Attempt id" value={call.attemptId} />
      <CopiedFact name="Correlation id" value={call.correlationId} />
      <dt>Version</dt>
      <dd className="figures">{call.version}</dd>
    </dl>
  </section>
)

const Instant = ({ name, at }: { readonly name: string; readonly at: string | undefined }) =>
  at === undefined ? null : (
    <>
      <dt>{name}</dt>
      <dd>
        <Moment at={at} show="both" />
      </dd>
    </>
  )

const CopiedFact = ({ name, value }: { readonly name: string; readonly value: string | undefined }) =>
  value === undefined ? null : (
    <>
      <dt>{name}</dt>
      <dd className="copied-fact">
        <code>{value}</code>
        <CopyButton text={value} what={name.toLowerCase()} />
      </dd>
    </>
  )
