/** The state of the form: what is typed, what is wrong with it, and what the service said. */
import { useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type RefObject, useEffect, useRef, useState } from "react"
import { focusFirstError } from "../../kit/focusFirstError.ts"
import { changeParameters } from "../../kit/places.ts"
import { ApiProblem } from "../../kit/serviceCall.ts"
import { useZone } from "../../kit/zone.ts"
import { submitCall } from "../agentApi.ts"
import { keepDraft, keptDraft } from "./keptDraft.ts"
import { bodyFault, draftFaults, missingInDraft, type RequestDraft, submissionText } from "./requestDraft.ts"

export interface RequestForm {
  readonly form: RefObject<HTMLFormElement | null>
  readonly draft: RequestDraft
  readonly errorAt: (pointer: string) => string | undefined
  /** What is wrong that no field shows. */
  readonly refusal: string | undefined
  readonly isBusy: boolean
  readonly change: (changes: Partial<RequestDraft>) => void
  readonly submit: (event?: Pick<FormEvent, "preventDefault">) => void
}

/** Makes a repeat of the same submission harmless, such as after a lost answer. */
const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

/** `initial`: a draft from elsewhere, in place of the one that the browser kept. */
export const useRequestForm = (tenant: string, initial: RequestDraft | undefined): RequestForm => {
  const queries = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  const zone = useZone()
  const [draft, setDraft] = useState(() => initial ?? keptDraft(tenant))
  const [refused, setRefused] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const [stops, setStops] = useState(0)
  const key = useRef(newKey())
  useEffect(() => keepDraft(tenant, draft), [tenant, draft])
  useEffect(() => {
    if (stops > 0) focusFirstError(form.current)
  }, [stops])
  const fault = bodyFault(draft)
  const wrong = new Map(draftFaults(draft))
  if (fault !== undefined) {
    wrong.set("/request/body", `Line ${fault.line}, column ${fault.column}: ${fault.message}`)
  }
  const missing = missingInDraft(draft)
  const shown = stops > 0 ? new Map([...missing, ...wrong]) : wrong
  const answered = refused instanceof ApiProblem ? refused.errors : []
  const submit = async () => {
    setBusy(true)
    setRefused(undefined)
    try {
      const { call } = await submitCall(tenant, submissionText(draft, zone, key.current))
      key.current = newKey()
      setStops(0)
      changeParameters({ shown: call.serviceCallId })
      void queries.invalidateQueries({ queryKey: ["calls"] })
    } catch (error) {
      setRefused(error instanceof Error ? error : new Error(String(error)))
    }
    setBusy(false)
  }
  return {
    form,
    draft,
    isBusy,
    errorAt: (pointer) =>
      shown.get(pointer) ??
      (answered
        .filter(({ pointer: at }) => at === pointer || at.startsWith(`${pointer}/`))
        .map(({ pointer: at, detail }) =>
          at === pointer ? detail : `${at.slice(pointer.length + 1)} ${detail}`,
        )
        .join("; ") ||
        undefined),
    refusal: refused === undefined ? undefined : refusalTextOf(refused),
    change: (changes) => {
      // Another request is not a repeat of the last one.
      key.current = newKey()
      setRefused(undefined)
      setDraft((now) => ({ ...now, ...changes }))
    },
    submit: (event) => {
      event?.preventDefault()
      if (wrong.size + missing.size > 0) setStops(stops + 1)
      else if (!isBusy) void submit()
    },
  }
}

const refusalTextOf = (error: Error): string => {
  if (!(error instanceof ApiProblem)) return error.message
  if (error.code === "unreachable") {
    return "The service cannot be reached, so it is not known whether the call was submitted. Submit it again: a repeat of the same request makes no second call."
  }
  if (error.code === "invalidRequest" && error.errors.length > 0) {
    return "The service did not accept the request. See the fields below."
  }
  return error.message
}
