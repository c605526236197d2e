/** A form for a new timer. Beside it stands the request that it sends, so that readers learn the API from it. */
import { useQuery } from "@tanstack/react-query"
import { Button } from "../../kit/Button.tsx"
import { nowMs, useIsTimeKnown } from "../../kit/now.ts"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { useMay, useSelf } from "../../kit/self.ts"
import { ApiProblem } from "../../kit/serviceCall.ts"
import { getTimer, type TimerWithPayload } from "../api.ts"
import { usePlace } from "../location.ts"
import { NewTimer } from "./NewTimer.tsx"
import "./new.css"
import { draftOf, emptyDraft, type TimerDraft } from "./TimerDraft.ts"

const NewTimerPage = () => {
  const { parameters } = usePlace()
  const self = useSelf()
  const may = useMay()
  const isTimeKnown = useIsTimeKnown()
  const namespace = parameters.get("from")
  const timerId = parameters.get("id")
  return (
    <>
      <header className="page-head">
        <h1>New timer</h1>
      </header>
      {self === undefined || !isTimeKnown ? (
        <Loading />
      ) : !may("timers.write") ? (
        <Screen kind="forbidden" title="Your key may not create timers">
          <p>
            It needs the action <code>timers.write</code>.
          </p>
        </Screen>
      ) : namespace !== null && timerId !== null ? (
        <CopiedTimer key={`${namespace}\0${timerId}`} namespace={namespace} timerId={timerId} />
      ) : (
        <NewTimer
          initial={{
            ...emptyDraft,
            namespace: parameters.get("namespace") ?? onlyNamespace(self.namespaces),
          }}
        />
      )}
    </>
  )
}

export default NewTimerPage

/** A key for one namespace leaves no choice. */
const onlyNamespace = ([first = "", ...others]: ReadonlyArray<string>): string =>
  others.length === 0 && !first.endsWith("*") ? first : ""

interface CopiedTimerProps {
  readonly namespace: string
  readonly timerId: string
}

/** A new timer that begins as a copy of another. */
const CopiedTimer = ({ namespace, timerId }: CopiedTimerProps) => {
  const may = useMay()
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["timer-to-copy", namespace, timerId],
    queryFn: ({ signal }) => getTimer(namespace, timerId, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (isPending) return <Loading />
  if (error !== null) {
    const isForbidden = error instanceof ApiProblem && error.status === 403
    return (
      <Screen
        kind={isForbidden ? "forbidden" : "failed"}
        title={
          isForbidden ? "Your key may not see the timer to copy" : "The timer to copy could not be loaded"
        }
        actions={<Button onClick={() => void refetch()}>Try again</Button>}
      >
        {error.message}
      </Screen>
    )
  }
  const notes = [
    `This is a copy of ${namespace} / ${timerId}. Give it an id of its own, or none.`,
    ...(may("payload.read", namespace)
      ? data.timer.finishedAt !== undefined && data.payloadText === undefined
        ? ["A finished timer no longer has its payload."]
        : []
      : ["Your key may not read payloads and headers, so the copy has none."]),
  ]
  return <NewTimer initial={copyOf(data)} notes={notes} />
}

/** The service makes correlation ids of this form. Those belong to one timer, so a copy gets its own. */
const madeByService = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

const copyOf = ({ timer, payloadText }: TimerWithPayload): TimerDraft => {
  const draft = draftOf(timer, payloadText)
  const isPast = draft.atMs !== undefined && draft.atMs <= nowMs()
  return {
    ...draft,
    timerId: "",
    correlationId: madeByService.test(draft.correlationId) ? "" : draft.correlationId,
    ...(isPast ? { when: "in" as const, atMs: undefined } : {}),
  }
}
