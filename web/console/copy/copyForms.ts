/** The forms in which a call can be copied. */
import { type CallToCopy, commandText, curlText, requestText, type ServiceToCall } from "./copyAs.ts"
import { goText } from "./goText.ts"
import { javaText } from "./javaText.ts"
import { pythonText } from "./pythonText.ts"
import { typescriptText } from "./typescriptText.ts"

export interface CopyForm {
  readonly value: string
  readonly label: string
  /** `undefined` if the call has no such form. */
  readonly text: (call: CallToCopy, service: ServiceToCall) => string | undefined
}

export const jsonForm: CopyForm = {
  value: "json",
  label: "JSON",
  text: ({ members }) => requestText(members),
}

/** Programs and commands that make the call. */
export const callForms: ReadonlyArray<CopyForm> = [
  { value: "curl", label: "curl", text: curlText },
  { value: "command", label: "CLI", text: commandText },
  { value: "typescript", label: "TypeScript", text: typescriptText },
  { value: "go", label: "Go", text: goText },
  { value: "python", label: "Python", text: pythonText },
  { value: "java", label: "Java", text: javaText },
]
