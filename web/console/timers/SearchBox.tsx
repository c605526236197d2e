/** The search as chips that can be edited, with completion of fields and values. */
import { useQuery } from "@tanstack/react-query"
import { type KeyboardEvent, useId, useRef, useState } from "react"
import { Icon } from "../../kit/Icon.tsx"
import { useShortcuts } from "../../kit/shortcuts.ts"
import { namespacesLike } from "../namespacesLike.ts"
import {
  type FieldName,
  fieldNames,
  fields,
  knownValues,
  parseSearch,
  type Word,
  withWord,
  wordText,
} from "./search.ts"
import { hostIn } from "./searchHelp.ts"

export interface SearchBoxProps {
  readonly words: ReadonlyArray<Word>
  readonly onChange: (words: ReadonlyArray<Word>) => void
  /** The fields that this list can be searched by. */
  readonly names?: ReadonlyArray<FieldName>
  readonly label?: string
  readonly placeholder?: string
}

/** Enter in an empty search leads to what was found. A second Enter opens it. */
const focusFirstRow = (): void => document.querySelector<HTMLElement>("main .timer-link")?.focus()

interface Choice {
  /** What the input holds after the choice. A text that ends with a colon waits for its value. */
  readonly text: string
  readonly hint: string
}

const choicesMax = 8

export const SearchBox = ({
  words,
  onChange,
  names = fieldNames,
  label = "Search timers",
  placeholder = "Search: an id, or state:dead tag:trial host:…",
}: SearchBoxProps) => {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState("")
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const choices = useChoices(text, names)
  const shown = isOpen && choices.length > 0
  useShortcuts({ "/": () => input.current?.focus() })

  const type = (next: string) => {
    setText(next)
    setAt(-1)
    setOpen(true)
  }
  const add = (typed: string) => {
    const parsed = parseSearch(typed)
    if (parsed.length === 0) return
    onChange(parsed.reduce(withWord, words))
    type("")
    setOpen(false)
  }
  const choose = ({ text: chosen }: Choice) => {
    if (chosen.endsWith(":")) type(chosen)
    else add(chosen)
    input.current?.focus()
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault()
      setOpen(true)
      const step = event.key === "ArrowDown" ? 1 : -1
      setAt((at + step + choices.length + (at === -1 && step === -1 ? 1 : 0)) % Math.max(1, choices.length))
    } else if (event.key === "Enter") {
      event.preventDefault()
      const chosen = shown ? choices[at] : undefined
      if (chosen === undefined && text === "") focusFirstRow()
      else if (chosen === undefined) add(text)
      else choose(chosen)
    } else if (event.key === "Tab" && shown && text !== "" && !event.shiftKey && choices[Math.max(0, at)]) {
      const chosen = choices[Math.max(0, at)]
      if (chosen !== undefined && chosen.text !== text) {
        event.preventDefault()
        choose(chosen)
      }
    } else if (event.key === "Escape") {
      if (shown) setOpen(false)
      else input.current?.blur()
    } else if (event.key === "Backspace" && text === "" && words.length > 0) {
      onChange(words.slice(0, -1))
    }
  }
  return (
    <search className="search">
      <Icon name="search" />
      {words.map((word) => (
        <span key={wordText(word)} className="chip">
          <button
            type="button"
            className="chip-text"
            title="Edit"
            onClick={() => {
              onChange(words.filter((other) => other !== word))
              type(wordText(word))
              input.current?.focus()
            }}
          >
            <span className="muted">{word.field}:</span>
            {word.value}
          </button>
          <button
            type="button"
            className="chip-remove"
            aria-label={`Remove ${wordText(word)}`}
            onClick={() => onChange(words.filter((other) => other !== word))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      <input
        ref={input}
        role="combobox"
        aria-label={label}
        aria-expanded={shown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        {...(shown && at >= 0 ? { "aria-activedescendant": `${id}-${at}` } : {})}
        value={text}
        placeholder={words.length === 0 ? placeholder : ""}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => type(target.value)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
      />
      <kbd className="search-key">/</kbd>
      <div id={`${id}-list`} role="listbox" aria-label="Suggestions" className="suggestions" hidden={!shown}>
        {choices.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys of the input choose an option.
          <div
            key={choice.text}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            // The input must keep the focus.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(choice)}
          >
            <span>{choice.text}</span>
            <span className="muted">{choice.hint}</span>
          </div>
        ))}
      </div>
    </search>
  )
}

/** Fields while the reader types a field, and values after its colon. */
const useChoices = (text: string, names: ReadonlyArray<FieldName>): ReadonlyArray<Choice> => {
  const [, name = "", value] = /^([a-z]*)(?::(.*))?$/.exec(text) ?? ["", text]
  const field = value === undefined ? undefined : names.find((known) => known === name)
  const namespaces = useQuery({
    queryKey: ["namespaces-like", value],
    queryFn: ({ signal }) => namespacesLike(value ?? "", choicesMax, signal),
    enabled: field === "namespace",
  }).data
  const host = hostIn(text.trim())
  if (field === undefined && host !== undefined) {
    return [
      { text: wordText({ field: "host", value: host }), hint: fields.host },
      { text: wordText({ field: "id", value: text.trim() }), hint: fields.id },
    ]
  }
  if (field === undefined) {
    if (text.includes(":") && value !== undefined) return []
    const matching = names.filter((known) => known.startsWith(text.toLowerCase()))
    return [
      ...(text === "" ? [] : [{ text: `id:${text}`, hint: fields.id }]),
      ...matching.map((known) => ({ text: `${known}:`, hint: fields[known] })),
    ]
  }
  const values = field === "namespace" ? (namespaces ?? []) : (knownValues[field] ?? [])
  return values
    .filter((known) => known.startsWith(value ?? ""))
    .slice(0, choicesMax)
    .map((known) => ({ text: wordText({ field, value: known }), hint: "" }))
}
