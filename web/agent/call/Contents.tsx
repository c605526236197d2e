/** The request and the answer, with their headers and bodies. */
import { CopyButton } from "../../kit/CopyButton.tsx"
import { JsonView } from "../../kit/JsonView.tsx"
import { durationText } from "../../kit/times.ts"
import type { CallDetail } from "../agentApi.ts"
import { durationMsOf } from "../callTexts.ts"

export interface FoundCall {
  readonly found: CallDetail
}

const hiddenText = "Your key may not read headers and bodies: it lacks the action payload.read."

export const RequestCard = ({ found: { request, hidden } }: FoundCall) => (
  <section className="card" aria-labelledby="request-title">
    <header className="card-head">
      <h2 id="request-title">Request</h2>
    </header>
    <div className="card-body contents">
      <p className="request-line">
        <span className="method">{request.method}</span>
        <code>{request.url}</code>
        <CopyButton text={request.url} what="the URL" />
      </p>
      {hidden === true ? (
        <p className="muted">{hiddenText}</p>
      ) : (
        <>
          <HeaderTable headers={request.headers} isOpen />
          <Body text={request.body} what="the body of the request" none="The request has no body." />
        </>
      )}
    </div>
  </section>
)

export const AnswerCard = ({ found: { call, hidden } }: FoundCall) => (
  <section className="card" aria-labelledby="answer-title">
    <header className="card-head">
      <h2 id="answer-title">Answer</h2>
      <AnswerFacts found={{ call }} />
    </header>
    <div className="card-body contents">
      <AnswerContents call={call} isHidden={hidden === true} />
    </div>
  </section>
)

/** Status and latency. */
export const AnswerFacts = ({ found: { call } }: { readonly found: Pick<CallDetail, "call"> }) => {
  const duration = durationMsOf(call)
  return (
    <span className="answer-facts figures">
      {call.response !== undefined && (
        <strong className={isGood(call.response.status) ? "status-good" : "status-bad"}>
          {call.response.status}
        </strong>
      )}
      {duration !== undefined && <span className="muted">{durationText(duration)}</span>}
    </span>
  )
}

const isGood = (status: number): boolean => status >= 200 && status < 300

interface AnswerContentsProps {
  readonly call: CallDetail["call"]
  readonly isHidden: boolean
}

export const AnswerContents = ({ call, isHidden }: AnswerContentsProps) => {
  const { response, error, status } = call
  return (
    <>
      {error !== undefined && <p className="call-failure">{error.message}</p>}
      {response === undefined ? (
        <p className="muted">{noAnswerText(status)}</p>
      ) : isHidden ? (
        <p className="muted">{hiddenText}</p>
      ) : (
        <>
          <HeaderTable headers={response.headers} />
          <Body text={response.bodySnippet} what="the body of the answer" none="The answer has no body." />
          {response.cut === true && (
            <p className="note">The answer was longer. The agent keeps the first 64 KiB.</p>
          )}
        </>
      )}
    </>
  )
}

const noAnswerText = (status: CallDetail["call"]["status"]): string => {
  if (status === "Cancelled") return "The request was never made."
  return status === "Failed" ? "There was no answer." : "There is no answer yet."
}

interface HeaderTableProps {
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly isOpen?: boolean
}

const HeaderTable = ({ headers = {}, isOpen = false }: HeaderTableProps) => {
  const entries = Object.entries(headers)
  if (entries.length === 0) return null
  return (
    <details className="header-table" open={isOpen}>
      <summary>{entries.length === 1 ? "1 header" : `${entries.length} headers`}</summary>
      <dl>
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

interface BodyProps {
  readonly text: string | undefined
  readonly what: string
  readonly none: string
}

const isJson = (text: string): boolean => {
  if (!/^\s*[[{"\dtfn-]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const Body = ({ text, what, none }: BodyProps) => {
  if (text === undefined || text === "") return <p className="muted">{none}</p>
  if (isJson(text)) return <JsonView text={text} what={what} />
  return (
    <div className="plain-body">
      <pre>{text}</pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}
