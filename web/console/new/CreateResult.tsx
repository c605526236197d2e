/** What a create did, in words. */
import type { CreateTimerAnswer } from "@punctual/api/CreateTimer"
import { useEffect, useRef } from "react"
import { Button } from "../../kit/Button.tsx"
import { Icon } from "../../kit/Icon.tsx"
import { Link } from "../../kit/Link.tsx"
import { useNow } from "../../kit/now.ts"
import { longText, relativeText } from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import { timerHref } from "../timers/timerHref.ts"

export type Created = typeof CreateTimerAnswer.Encoded

const titles: Readonly<Record<Created["result"], string>> = {
  created: "The timer is created",
  replaced: "The timer is replaced",
  unchanged: "Nothing has changed",
  alreadyFinished: "Nothing has changed",
}

const reasons: Readonly<Record<Created["result"], string>> = {
  created: "",
  replaced: "A timer with this id was pending. The new one has taken its place.",
  unchanged: "A timer with this id is pending already. It is equal, or you chose to keep it.",
  alreadyFinished: "An equal timer with this id has finished already, so it does not fire again.",
}

export interface CreateResultProps {
  readonly created: Created
  readonly onAnother: () => void
}

export const CreateResult = ({ created: { result, timer, warnings = [] }, onAnother }: CreateResultProps) => {
  const title = useRef<HTMLHeadingElement>(null)
  const zone = useZone()
  const now = useNow()
  // The reader's eyes are at the end of the form. The result is at its beginning.
  useEffect(() => {
    title.current?.focus()
    title.current?.scrollIntoView({ block: "center" })
  }, [])
  const hasChanged = result === "created" || result === "replaced"
  const dueMs = Date.parse(timer.fireAt ?? timer.executeAt)
  return (
    <section className={hasChanged ? "card result result-good" : "card result"} aria-live="polite">
      <h2 ref={title} tabIndex={-1}>
        <Icon name={hasChanged ? "check" : "timers"} /> {titles[result]}
      </h2>
      <p className="result-id">
        <span className="muted">{timer.namespace} / </span>
        <strong>{timer.timerId}</strong>
      </p>
      {reasons[result] !== "" && <p>{reasons[result]}</p>}
      {timer.finishedAt === undefined && (
        <p>
          It fires {longText(dueMs, zone)} {zone}, {relativeText(dueMs, now)}.
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning} className="note note-warning">
          {warning}.
        </p>
      ))}
      <div className="result-actions">
        <Link className="button button-primary" href={timerHref(timer)}>
          Open the timer
        </Link>
        <Button onClick={onAnother}>Create another</Button>
      </div>
    </section>
  )
}
