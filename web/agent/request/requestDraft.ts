/** What the reader has typed for a request, and the submission that it becomes. All functions are pure. */
import { isDuration, parseDuration } from "@punctual/api/parseDuration"
import type { HeaderDraft } from "../../kit/HeaderRows.tsx"
import { jsonFault } from "../../kit/jsonFault.ts"
import { isoText } from "../../kit/times.ts"
import type { CallDetail } from "../agentApi.ts"
import type { RequestToCopy } from "../curlTexts.ts"
import type { DueDraft } from "../DueField.tsx"

export interface RequestDraft {
  readonly name: string
  readonly method: string
  readonly url: string
  readonly headers: ReadonlyArray<HeaderDraft>
  readonly bodyKind: "json" | "text" | "none"
  readonly body: string
  readonly due: DueDraft
  readonly tags: ReadonlyArray<string>
  readonly serviceCallId: string
}

export const emptyDraft: RequestDraft = {
  name: "",
  method: "GET",
  url: "",
  headers: [{ row: 0, name: "", value: "" }],
  bodyKind: "json",
  body: "",
  due: { when: "now", delay: "5m" },
  tags: [],
  serviceCallId: "",
}

/** GET and HEAD have no body. */
export const takesBody = (method: string): boolean => method !== "GET" && method !== "HEAD"

/** Headers whose values nobody but the called service should see. */
const secretHeader = /^(?:authorization|cookie|x-api-key)$|token|secret|password/i

const isSecret = ({ name }: Pick<HeaderDraft, "name">): boolean => secretHeader.test(name.trim())

/** What the browser may keep. */
export const withoutSecrets = (draft: RequestDraft): RequestDraft => ({
  ...draft,
  headers: draft.headers.map((header) => (isSecret(header) ? { ...header, value: "" } : header)),
})

/** Whether a value that the browser kept is a draft of this version of the pages. */
export const isRequestDraft = (value: unknown): value is RequestDraft => {
  const draft = value as Partial<Record<keyof RequestDraft, unknown>> | null
  return (
    typeof draft === "object" &&
    draft !== null &&
    (["name", "method", "url", "body", "serviceCallId"] as const).every(
      (field) => typeof draft[field] === "string",
    ) &&
    ["json", "text", "none"].includes(String(draft.bodyKind)) &&
    Array.isArray(draft.headers) &&
    Array.isArray(draft.tags) &&
    typeof draft.due === "object" &&
    draft.due !== null
  )
}

/** The agent shows redacted values in place of secrets. */
const isRedacted = (value: string): boolean => /^\[redacted/i.test(value)

/** A draft with the request of a call, to be made now. */
export const draftOfCall = ({ call, request }: CallDetail): RequestDraft => {
  const headers = Object.entries(request.headers ?? {})
  const body = request.body ?? ""
  return {
    ...emptyDraft,
    name: call.name,
    method: request.method,
    url: request.url,
    headers: [...headers, ["", ""] as const].map(([name, value], row) => ({ row, name, value })),
    bodyKind: body === "" ? "json" : jsonFault(body) === undefined ? "json" : "text",
    body,
    tags: call.tags,
  }
}

const given = (headers: ReadonlyArray<HeaderDraft>) =>
  headers
    .map(({ name, value }) => [name.trim(), value.trim()] as const)
    .filter(([name, value]) => name !== "" || value !== "")

const hasBody = ({ method, bodyKind, body }: RequestDraft): boolean =>
  takesBody(method) && bodyKind !== "none" && body.trim() !== ""

const hasType = (headers: ReturnType<typeof given>): boolean =>
  headers.some(([name]) => name.toLowerCase() === "content-type")

const jsonType = ["content-type", "application/json"] as const

/** The request as it will be sent, for a shell. */
export const requestToCopy = (draft: RequestDraft): RequestToCopy => {
  const headers = given(draft.headers)
  const isTyped = hasBody(draft) && draft.bodyKind === "json" && !hasType(headers)
  return {
    method: draft.method,
    url: draft.url.trim(),
    headers: isTyped ? [...headers, jsonType] : headers,
    body: hasBody(draft) ? (draft.bodyKind === "json" ? draft.body.trim() : draft.body) : undefined,
  }
}

/** The JSON text of the submission. The body of the request stays as it was typed, so numbers keep all their digits. */
export const submissionText = (draft: RequestDraft, zone: string, idempotencyKey?: string): string => {
  const { name, due, tags, serviceCallId, method, url } = draft
  // In the API, a text is sent as it is. So a JSON text in quotes needs quotes around them.
  const isQuoted = draft.bodyKind === "json" && draft.body.trim().startsWith('"')
  const headers = given(draft.headers)
  const sent = hasBody(draft) && isQuoted && !hasType(headers) ? [...headers, jsonType] : headers
  const body =
    draft.bodyKind === "json" && !isQuoted
      ? draft.body.trim()
      : JSON.stringify(isQuoted ? draft.body.trim() : draft.body)
  const request = objectText([
    ["method", JSON.stringify(method)],
    ["url", JSON.stringify(url.trim())],
    sent.length > 0 && ["headers", JSON.stringify(Object.fromEntries(sent))],
    hasBody(draft) && ["body", body],
  ])
  return objectText([
    name.trim() !== "" && ["name", JSON.stringify(name.trim())],
    ["request", request],
    due.when === "in" && ["delay", JSON.stringify(due.delay.trim())],
    due.when === "at" &&
      due.atMs !== undefined && ["dueAt", JSON.stringify(isoText(due.atMs, due.zone ?? zone))],
    tags.length > 0 && ["tags", JSON.stringify(tags)],
    serviceCallId.trim() !== "" && ["serviceCallId", JSON.stringify(serviceCallId.trim())],
    serviceCallId.trim() === "" &&
      idempotencyKey !== undefined && ["idempotencyKey", JSON.stringify(idempotencyKey)],
  ])
}

const objectText = (members: ReadonlyArray<readonly [name: string, text: string] | false>): string =>
  `{ ${members
    .filter((member) => member !== false)
    .map(([name, text]) => `${JSON.stringify(name)}: ${text}`)
    .join(", ")} }`

/** What is wrong, by JSON pointer of the submission. The service checks the rest. */
export const draftFaults = (draft: RequestDraft): ReadonlyMap<string, string> => {
  const faults = new Map<string, string>()
  const { due } = draft
  if (due.when === "in" && parseDuration(due.delay.trim()) === undefined) {
    const isLong = isDuration(due.delay.trim())
    faults.set("/delay", isLong ? "must be at most 3653d" : "must be a duration, such as 90s or 1h30m")
  }
  const url = draft.url.trim()
  if (url !== "" && !/^https?:\/\/[^\s/]+/i.test(url)) {
    faults.set("/request/url", "must begin with http:// or https://")
  }
  const names = given(draft.headers).map(([name]) => name.toLowerCase())
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined && twice !== "") faults.set("/request/headers", `${twice} is given twice`)
  const nameless = given(draft.headers).some(([name]) => name === "")
  if (nameless) faults.set("/request/headers", "A header has a value and no name")
  return faults
}

/** What is not there yet. It is no mistake before the reader submits. */
export const missingInDraft = (draft: RequestDraft): ReadonlyMap<string, string> => {
  const missing = new Map<string, string>()
  if (draft.url.trim() === "") missing.set("/request/url", "is required")
  if (draft.due.when === "at" && draft.due.atMs === undefined) missing.set("/dueAt", "is required")
  const secret = draft.headers.find(
    (header) => isRedacted(header.value) || (isSecret(header) && header.value.trim() === ""),
  )
  if (secret !== undefined) {
    missing.set("/request/headers", `Type the value of ${secret.name.trim()} again: secrets are not kept`)
  }
  return missing
}

/** The first mistake in a body that should be JSON. */
export const bodyFault = (draft: RequestDraft) =>
  draft.bodyKind === "json" && hasBody(draft) ? jsonFault(draft.body) : undefined
