/** The body of the request: JSON with its mistakes marked, or any text. */
import { Button } from "../../kit/Button.tsx"
import { Field } from "../../kit/Field.tsx"
import { JsonEditor } from "../../kit/JsonEditor.tsx"
import { formatJson } from "../../kit/jsonFault.ts"
import { Switch } from "../../kit/Switch.tsx"
import { bodyFault, takesBody } from "./requestDraft.ts"
import type { RequestForm } from "./useRequestForm.ts"

const kinds = [
  { value: "json", label: "JSON" },
  { value: "text", label: "Text" },
  { value: "none", label: "None" },
] as const

const encoder = new TextEncoder()

export const BodyField = ({ form: { draft, errorAt, change } }: { readonly form: RequestForm }) => {
  const { method, bodyKind, body } = draft
  if (!takesBody(method)) {
    return <p className="note">{method} requests have no body. Choose another method to send one.</p>
  }
  const fault = bodyFault(draft)
  const bytes = encoder.encode(body).length
  return (
    <div className="body-field">
      <div className="body-tools">
        <Switch
          label="Form of the body"
          value={bodyKind}
          options={kinds}
          onChange={(kind) => change({ bodyKind: kind })}
        />
        {bodyKind !== "none" && <span className="muted figures">{bytes.toLocaleString("en")} bytes</span>}
        {bodyKind === "json" && (
          <Button
            isSmall
            disabled={body.trim() === "" || fault !== undefined}
            onClick={() => change({ body: formatJson(body) })}
          >
            Format
          </Button>
        )}
      </div>
      {bodyKind !== "none" && (
        <Field label="Body" error={errorAt("/request/body")}>
          {(attributes) => (
            <JsonEditor
              {...attributes}
              text={body}
              fault={fault}
              isJson={bodyKind === "json"}
              placeholder={bodyKind === "json" ? '{ "invoice": 4711 }' : ""}
              onText={(next) => change({ body: next })}
            />
          )}
        </Field>
      )}
    </div>
  )
}
