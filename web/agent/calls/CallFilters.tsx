/** The search by name, and the other parts of the filter as words that the reader can remove. */
import { useEffect, useRef, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Icon } from "../../kit/Icon.tsx"
import { useNow } from "../../kit/now.ts"
import { changeParameters } from "../../kit/places.ts"
import { useShortcuts } from "../../kit/shortcuts.ts"
import { shortText } from "../../kit/times.ts"
import { useSettled } from "../../kit/useSettled.ts"
import { useZone } from "../../kit/zone.ts"
import type { CallSearch, TextFilter } from "./callSearch.ts"
import { FilterDialog } from "./FilterDialog.tsx"

export const CallFilters = ({ search }: { readonly search: CallSearch }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <NameSearch name={search.name ?? ""} />
      <Button
        icon="star"
        className="star-filter"
        aria-pressed={search.starred === true}
        onClick={() => changeParameters({ starred: search.starred === true ? undefined : "true" })}
      >
        Starred
      </Button>
      <Button icon="filter" onClick={() => setOpen(true)}>
        Filter
      </Button>
      {isOpen && <FilterDialog search={search} onClose={() => setOpen(false)} />}
    </>
  )
}

const NameSearch = ({ name }: { readonly name: string }) => {
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(name)
  const settled = useSettled(text)
  const told = useRef(name)
  useEffect(() => {
    if (settled === told.current) return
    told.current = settled
    changeParameters({ name: settled === "" ? undefined : settled }, { replace: true })
  }, [settled])
  useEffect(() => {
    // The address has changed in another way, such as "back".
    if (name === told.current) return
    told.current = name
    setText(name)
  }, [name])
  useShortcuts({ "/": () => input.current?.focus() })
  return (
    <div className="name-search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        aria-label="Search calls by name"
        placeholder="Search by name"
        maxLength={200}
        spellCheck={false}
        autoComplete="off"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") input.current?.blur()
        }}
      />
      <kbd>/</kbd>
    </div>
  )
}

const chipFields: ReadonlyArray<TextFilter> = ["tag", "method", "host"]

/** What the filter says, besides status, name and star. */
export const FilterChips = ({ search }: { readonly search: CallSearch }) => {
  const zone = useZone()
  const now = useNow()
  const chips = [
    ...chipFields.flatMap((field) => {
      const value = search[field]
      return value === undefined ? [] : [{ text: `${field}: ${value}`, clear: { [field]: undefined } }]
    }),
    ...(search.starred === false ? [{ text: "without a star", clear: { starred: undefined } }] : []),
    ...(search.from === undefined
      ? []
      : [
          {
            text: `due from ${shortText(Date.parse(search.from), now, zone)}`,
            clear: { from: undefined },
          },
        ]),
    ...(search.until === undefined
      ? []
      : [
          {
            text: `due before ${shortText(Date.parse(search.until), now, zone)}`,
            clear: { until: undefined },
          },
        ]),
  ]
  if (chips.length === 0) return null
  return (
    <ul className="filter-chips" aria-label="Filter">
      {chips.map(({ text, clear }) => (
        <li key={text} className="word">
          {text}
          <button type="button" aria-label={`Remove ${text}`} onClick={() => changeParameters(clear)}>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  )
}
