/** The request that a form will send, in the forms in which readers use it elsewhere. */
import { useState } from "react"
import { CopyButton } from "../../kit/CopyButton.tsx"
import { Segments } from "../../kit/Segments.tsx"
import { useSelf } from "../../kit/self.ts"
import { serviceUrl } from "../../kit/serviceUrl.ts"
import type { CallToCopy } from "../copy/copyAs.ts"
import { callForms, jsonForm } from "../copy/copyForms.ts"

const forms = [jsonForm, ...callForms]

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
  const [value, setValue] = useState(jsonForm.value)
  const service = { url: serviceUrl(), needsKey: useSelf()?.keysRequired === true }
  const form = forms.find((each) => each.value === value) ?? jsonForm
  const text = form.text(call, service) ?? ""
  return (
    <>
      <div className="request-forms">
        <Segments label="Show it as" value={value} options={forms} onChange={setValue} />
        <CopyButton text={text} what="the request" />
      </div>
      <pre className="request-text">{text}</pre>
    </>
  )
}
