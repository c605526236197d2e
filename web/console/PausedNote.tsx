/** Says that a namespace is paused, where the reader would otherwise expect that its timers fire. */
import { NamespaceLinks } from "./NamespaceLinks.tsx"
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
      <NamespaceLinks names={paused} /> {paused.length === 1 ? "is" : "are"} paused: {meaning} until somebody
      resumes {paused.length === 1 ? "it" : "them"}.
    </p>
  )
}
