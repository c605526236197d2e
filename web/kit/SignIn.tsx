/**
 * Asks for a key, above the page that the reader was on. So an ended session loses nothing. The key is exchanged for a
 * cookie that scripts cannot read. The page keeps the key only while the reader types it.
 */
import { type FormEvent, useEffect, useRef, useState } from "react"
import { Button } from "./Button.tsx"
import { Dialog } from "./Dialog.tsx"
import { Field } from "./Field.tsx"
import { KeySources } from "./KeySources.tsx"
import { ApiProblem, signIn } from "./serviceCall.ts"

export interface SignInProps {
  /** The reader was signed in before. */
  readonly isAgain: boolean
}

export const SignIn = ({ isAgain }: SignInProps) => {
  const input = useRef<HTMLInputElement>(null)
  const [apiKey, setApiKey] = useState("")
  const [isVisible, setVisible] = useState(false)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => input.current?.focus(), [])
  const begin = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await signIn(apiKey.trim())
    } catch (problem) {
      setError(whyNotSignedIn(problem))
      setBusy(false)
      input.current?.focus()
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (apiKey.trim() !== "" && !isBusy) void begin()
  }
  return (
    <Dialog title={isAgain ? "Sign in again" : "Sign in"}>
      <p>
        {isAgain
          ? "Your session has ended. What you typed is still there, and goes on when you sign in."
          : "This service needs a key. The browser does not keep it: it gets a session for it."}
      </p>
      <form onSubmit={submit}>
        <Field label="API key" error={error}>
          {(attributes) => (
            <div className="key-input">
              <input
                {...attributes}
                ref={input}
                type={isVisible ? "text" : "password"}
                autoComplete="off"
                autoCapitalize="off"
                spellCheck={false}
                maxLength={512}
                placeholder="pnct_…"
                value={apiKey}
                onChange={({ target }) => setApiKey(target.value)}
              />
              <Button aria-pressed={isVisible} onClick={() => setVisible(!isVisible)}>
                {isVisible ? "Hide" : "Show"}
              </Button>
            </div>
          )}
        </Field>
        <Button look="primary" type="submit" disabled={apiKey.trim() === "" || isBusy}>
          Sign in
        </Button>
      </form>
      <details className="key-help">
        <summary>Where do I find a key?</summary>
        <p>An administrator makes a key for you. If you run the service yourself:</p>
        <KeySources />
      </details>
    </Dialog>
  )
}

const whyNotSignedIn = (problem: unknown): string => {
  if (!(problem instanceof ApiProblem)) return problem instanceof Error ? problem.message : String(problem)
  if (problem.code === "unreachable") return "The service cannot be reached. Try again."
  if (problem.code === "invalidRequest") return "This is not the text of a key."
  return problem.message
}
