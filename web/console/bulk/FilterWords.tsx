/** A filter in the words of the search, as chips that only show. */
import { exactText } from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import { wordsOf } from "./bulkJob.ts"

export interface FilterWordsProps {
  readonly filter: Readonly<Record<string, unknown>>
}

export const FilterWords = ({ filter }: FilterWordsProps) => {
  const zone = useZone()
  const words = wordsOf(filter)
  const instants = (["from", "until"] as const).flatMap((name) => {
    const at = filter[name]
    return typeof at === "string" ? [{ field: name, value: exactText(Date.parse(at), zone) }] : []
  })
  if (words.length + instants.length === 0)
    return <span className="muted">everything, in all namespaces</span>
  return (
    <span className="filter-words">
      {[...words, ...instants].map(({ field, value }) => (
        <span key={`${field}:${value}`} className="filter-word">
          <span className="muted">{field}:</span>
          {value}
        </span>
      ))}
    </span>
  )
}
