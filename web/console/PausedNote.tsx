/** Says that a namespace is paused, where the reader would otherwise expect that its timers fire. */
import { Link } from "../kit/Link.tsx"
import { namespaceHref } from "./namespaces/hrefs.ts"
import { usePausedAmong } from "./useNamespace.ts"

export interface PausedNoteProps {
  readonly namespaces: ReadonlyArray<string>
  /** What that means here: "the timer will wait". */
  readonly meaning: string
}

/** Nothing if none of them is paused. */
export const PausedNote = ({ namespaces, meaning }: PausedNoteProps) => {
  const paused = usePausedAmong(namespaces)
  if (paused.length === 0) return null
  return (
    <p className="note note-warning" role="status">
      {paused.map((name, index) => (
        <span key={name}>
          {index > 0 && ", "}
          <Link href={namespaceHref(name)}>{name}</Link>
        </span>
      ))}{" "}
      {paused.length === 1 ? "is" : "are"} paused: {meaning} until somebody resumes{" "}
      {paused.length === 1 ? "it" : "them"}.
    </p>
  )
}
