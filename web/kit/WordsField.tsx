/** A list of words, such as tags. Enter or a comma ends a word. */
import { type KeyboardEvent, type ReactNode, useId, useState } from "react"
import { Icon } from "./Icon.tsx"

export interface WordsFieldProps {
  readonly label: string
  readonly hint: ReactNode
  readonly placeholder?: string
  readonly words: ReadonlyArray<string>
  readonly error: string | undefined
  readonly onChange: (words: ReadonlyArray<string>) => void
}

export const WordsField = ({ label, hint, placeholder, words, error, onChange }: WordsFieldProps) => {
  const id = useId()
  const [text, setText] = useState("")
  /** Adds what is complete. The rest stays in the input. */
  const take = (complete: ReadonlyArray<string>, rest: string) => {
    const added = complete.map((word) => word.trim()).filter((word) => word !== "")
    if (added.length > 0) onChange([...new Set([...words, ...added])])
    setText(rest)
  }
  const type = (typed: string) => {
    const parts = typed.split(",")
    take(parts.slice(0, -1), parts.at(-1) ?? "")
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && text.trim() !== "") {
      event.preventDefault()
      take([text], "")
    } else if (event.key === "Backspace" && text === "" && words.length > 0) {
      onChange(words.slice(0, -1))
    }
  }
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="words">
        {words.map((word) => (
          <span key={word} className="word">
            {word}
            <button
              type="button"
              aria-label={`Remove ${word}`}
              onClick={() => onChange(words.filter((other) => other !== word))}
            >
              <Icon name="close" />
            </button>
          </span>
        ))}
        <input
          id={id}
          aria-describedby={`${id}-hint`}
          aria-invalid={error === undefined ? undefined : true}
          value={text}
          placeholder={words.length === 0 ? placeholder : undefined}
          spellCheck={false}
          autoComplete="off"
          onChange={({ target }) => type(target.value)}
          onKeyDown={onKey}
          onBlur={() => take([text], "")}
        />
      </div>
      <p id={`${id}-hint`} className="field-hint">
        {hint}
      </p>
      {error !== undefined && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
