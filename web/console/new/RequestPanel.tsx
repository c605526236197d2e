/** The request that a form will send, in the forms in which readers use it elsewhere. */
import { useState } from "react"
import { CopyButton } from "../../kit/CopyButton.tsx"
import { Segments } from "../../kit/Segments.tsx"
import { useSelf } from "../../kit/self.ts"
import { serviceUrl } from "../../kit/serviceUrl.ts"
import { type CallToCopy, commandText, curlText, requestText, typescriptText } from "../copyAs.ts"

const forms = [
  { value: "json", label: "JSON" },
  { value: "curl", label: "curl" },
  { value: "command", label: "CLI" },
  { value: "typescript", label: "TypeScript" },
] as const

type Form = (typeof forms)[number]["value"]

export interface RequestProps {
  readonly call: CallToCopy
}

export const RequestPanel = ({ call }: RequestProps) => (
  <section className="card request" aria-labelledby="request-title">
    <div className="card-head">
      <h2 id="request-title">Request</h2>
      <code className="muted">POST /api/v1/{call.path}</code>
    </div>
    <div className="card-body">
      <RequestTexts call={call} />
    </div>
  </section>
)

export const RequestTexts = ({ call }: RequestProps) => {
  const [form, setForm] = useState<Form>("json")
  const service = { url: serviceUrl(), needsKey: useSelf()?.keysRequired === true }
  const texts: Readonly<Record<Form, string>> = {
    json: requestText(call.members),
    curl: curlText(call, service),
    command: commandText(call, service) ?? "",
    typescript: typescriptText(call, service) ?? "",
  }
  return (
    <>
      <div className="request-forms">
        <Segments label="Show it as" value={form} options={forms} onChange={setForm} />
        <CopyButton text={texts[form]} what="the request" />
      </div>
      <pre className="request-text">{texts[form]}</pre>
    </>
  )
}
