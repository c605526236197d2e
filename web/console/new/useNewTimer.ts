/** The state of the form for a new timer: what is typed, what is wrong with it, and what the service said. */
import { useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type RefObject, useEffect, useRef, useState } from "react"
import { focusFirstError } from "../../kit/focusFirstError.ts"
import { useMay } from "../../kit/self.ts"
import { call } from "../../kit/serviceCall.ts"
import { useFormZone } from "../../kit/zone.ts"
import { type Members, requestText } from "../copy/copyAs.ts"
import type { Created } from "./CreateResult.tsx"
import { checkDraft, type FieldErrors, missingIn } from "./draftChecks.ts"
import { type ErrorAt, errorFinder, errorsOf, type Refused } from "./fieldErrors.ts"
import { createMembers, type TimerDraft } from "./TimerDraft.ts"

export interface NewTimerForm {
  readonly form: RefObject<HTMLFormElement | null>
  readonly draft: TimerDraft
  /** The request that it sends. */
  readonly members: Members
  readonly errorAt: ErrorAt
  readonly refused: Refused | undefined
  readonly created: Created | undefined
  readonly canCreate: boolean
  readonly change: (changes: Partial<TimerDraft>) => void
  /** Goes on with another timer of the same kind. */
  readonly again: () => void
  readonly submit: (event: Pick<FormEvent, "preventDefault">) => void
}

export const useNewTimer = (initial: TimerDraft): NewTimerForm => {
  const queries = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  const [draft, setDraft] = useState(initial)
  const [refused, setRefused] = useState<Refused>()
  const [created, setCreated] = useState<Created>()
  const [isBusy, setBusy] = useState(false)
  // How often a wrong field has stopped the reader. The fields show it before the focus moves there.
  const [stops, setStops] = useState(0)
  useEffect(() => {
    if (stops > 0) focusFirstError(form.current)
  }, [stops])
  const formZone = useFormZone()
  const members = createMembers(draft, draft.zone ?? formZone)
  const wrong: FieldErrors = new Map([...useNotAllowed(draft.namespace.trim()), ...checkDraft(draft)])
  const missing = missingIn(draft)
  // Empty fields are no errors before the reader wants to send them.
  const checks: FieldErrors = stops > 0 ? new Map([...wrong, ...missing]) : wrong
  // Without an id, the second click of a double click would make a second timer.
  const canCreate = !isBusy && (created === undefined || draft.timerId !== "")
  const create = async () => {
    setBusy(true)
    setRefused(undefined)
    try {
      setCreated(await call<Created>("timers/create", requestText(members)))
      setStops(0)
      void queries.invalidateQueries({ queryKey: ["timers"] })
    } catch (error) {
      setRefused({ error, sent: members })
    }
    setBusy(false)
  }
  return {
    form,
    draft,
    members,
    errorAt: errorFinder(errorsOf(checks, refused, members)),
    refused,
    created,
    canCreate,
    change: (changes) => {
      setDraft((now) => ({ ...now, ...changes }))
      setCreated(undefined)
    },
    again: () => {
      setDraft((now) => ({ ...now, timerId: "" }))
      setCreated(undefined)
    },
    submit: (event) => {
      event.preventDefault()
      if (wrong.size + missing.size > 0) setStops(stops + 1)
      else if (canCreate) void create()
    },
  }
}

/** The reader's key may be for some namespaces only. */
const useNotAllowed = (namespace: string): FieldErrors => {
  const may = useMay()
  return namespace === "" || may("timers.write", namespace)
    ? new Map<string, string>()
    : new Map([["/namespace", "is one in which your key may not create timers"]])
}
