/** The answer to the last request, as it comes. */
import { useEffect, useRef, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Icon } from "../../kit/Icon.tsx"
import { Link } from "../../kit/Link.tsx"
import { useNow } from "../../kit/now.ts"
import { changeParameters } from "../../kit/places.ts"
import { ApiProblem } from "../../kit/serviceCall.ts"
import { toast } from "../../kit/toasts.tsx"
import { actOnCall, type CallDetail, runCallAgain } from "../agentApi.ts"
import { callHref } from "../agentPlaces.ts"
import { AnswerContents, AnswerFacts } from "../call/Contents.tsx"
import { useCall } from "../call/useCall.ts"
import { canCancel, isFinished, summaryOfCall } from "../callTexts.ts"
import { StatusBadge } from "../StatusBadge.tsx"

export interface AnswerPanelProps {
  readonly tenant: string
  /** The call whose answer is shown. */
  readonly id: string | undefined
}

export const AnswerPanel = ({ tenant, id }: AnswerPanelProps) => {
  const { data, error, refetch } = useCall(tenant, id)
  const panel = useRef<HTMLElement>(null)
  const shown = useRef(id)
  useEffect(() => {
    if (shown.current === id) return
    shown.current = id
    // Below a long form the reader would not see that an answer comes.
    if (matchMedia("(max-width: 1100px)").matches) panel.current?.scrollIntoView()
  }, [id])
  const isGone = error instanceof ApiProblem && error.status === 404
  return (
    <section ref={panel} className="card answer-panel" aria-labelledby="panel-title" aria-live="polite">
      <header className="card-head">
        <h2 id="panel-title">Answer</h2>
        {id !== undefined && data !== undefined && (
          <>
            <AnswerFacts found={data} />
            <StatusBadge status={data.call.status} />
          </>
        )}
      </header>
      {id === undefined || isGone ? (
        <div className="answer-none">
          <Icon name="bolt" />
          <p>{isGone ? "There is no such call any more." : "Send a request. Its answer appears here."}</p>
        </div>
      ) : data === undefined ? (
        <p className="card-body muted">{error === null ? "Loading …" : error.message}</p>
      ) : (
        <Answer found={data} onChange={() => void refetch()} />
      )}
    </section>
  )
}

interface AnswerProps {
  readonly found: CallDetail
  readonly onChange: () => void
}

const Answer = ({ found, onChange }: AnswerProps) => {
  const { call, request, hidden } = found
  const [isBusy, setBusy] = useState(false)
  const { title, text } = summaryOfCall(call, useNow())
  const act = async (work: () => Promise<unknown>) => {
    setBusy(true)
    try {
      await work()
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), true)
    }
    setBusy(false)
    onChange()
  }
  const runAgain = async () => {
    const made = await runCallAgain(call.tenantId, call.serviceCallId)
    changeParameters({ shown: made.serviceCallId })
  }
  return (
    <div className="card-body contents">
      <div>
        <h3>{title}</h3>
        {text !== "" && <p className="muted">{text}</p>}
      </div>
      <p className="request-line">
        <span className="method">{request.method}</span>
        <code>{request.url}</code>
      </p>
      {(isFinished(call) || call.response !== undefined) && (
        <AnswerContents call={call} isHidden={hidden === true} />
      )}
      <div className="answer-actions">
        <Link className="button" href={callHref(call)}>
          Open the call
        </Link>
        {canCancel(call) && (
          <Button
            disabled={isBusy}
            onClick={() => void act(() => actOnCall(call.tenantId, call.serviceCallId, "cancel"))}
          >
            Cancel
          </Button>
        )}
        {isFinished(call) && (
          <Button icon="replay" disabled={isBusy} onClick={() => void act(runAgain)}>
            Run again
          </Button>
        )}
      </div>
    </div>
  )
}
