/** Two people changed the same timer. Shows both versions, so that nothing is overwritten unseen. */
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { exactText, offsetText } from "../../kit/times.ts"
import { useFormZone } from "../../kit/zone.ts"
import type { Timer } from "../api.ts"
import { memberWords } from "./memberWords.ts"
import { membersOf, type TimerDraft } from "./TimerDraft.ts"

export interface EditConflictProps {
  readonly title: string
  readonly drafts: {
    readonly before: TimerDraft
    readonly mine: TimerDraft
    readonly theirs: TimerDraft
  }
  /** Their version. */
  readonly timer: Timer
  readonly onClose: () => void
  /** Goes on with the reader's changes on top of their version. */
  readonly onTop: () => void
  readonly onTheirs: () => void
}

interface Row {
  readonly name: string
  readonly before: string
  /** Absent if it is as before. */
  readonly theirs?: string
  readonly mine?: string
}

const textMax = 400
const labels = { before: "When you began", theirs: "Theirs, now", mine: "Yours" } as const

export const EditConflict = ({ title, drafts, timer, onClose, onTop, onTheirs }: EditConflictProps) => {
  const formZone = useFormZone()
  const zone = drafts.mine.zone ?? formZone
  const rows = rowsOf(drafts, zone)
  const isPending = timer.finishedAt === undefined
  return (
    <Dialog
      title={title}
      isWide
      onClose={onClose}
      actions={
        isPending ? (
          <>
            <Button onClick={onTheirs}>Drop my changes</Button>
            <Button look="primary" onClick={onTop}>
              Put my changes on top
            </Button>
          </>
        ) : (
          <CloseButton onClick={onClose} />
        )
      }
    >
      <p className="banner banner-warning" role="alert">
        {isPending
          ? "Somebody else changed this timer while you were editing. Nothing of yours is saved yet. Compare, and decide."
          : `The timer is ${timer.state} meanwhile, so it can no longer be changed. Nothing of yours is saved.`}
      </p>
      <div className="table-scroll">
        <table className="table versions">
          <thead>
            <tr>
              <th scope="col">Field</th>
              {Object.values(labels).map((label) => (
                <th key={label} scope="col">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, before, theirs, mine }) => (
              <tr key={name}>
                <th scope="row">{memberWords([name]).join().replace(/^the /, "")}</th>
                <td className="muted" data-label={labels.before}>
                  {before}
                </td>
                <Version label={labels.theirs} text={theirs} />
                <Version label={labels.mine} text={mine} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {isPending && (
        <p className="muted">
          “Put my changes on top” takes you back to the form, with their version and your changed fields. You
          save there.
        </p>
      )}
    </Dialog>
  )
}

interface VersionProps {
  readonly label: string
  readonly text: string | undefined
}

const Version = ({ label, text }: VersionProps) => (
  <td data-label={label}>
    {text === undefined ? <span className="muted">as before</span> : <strong>{text}</strong>}
  </td>
)

/** The fields that one of the two has changed. */
const rowsOf = ({ before, theirs, mine }: EditConflictProps["drafts"], zone: string): ReadonlyArray<Row> => {
  const [was, their, own] = [textsOf(before, zone), textsOf(theirs, zone), textsOf(mine, zone)]
  return [...new Set([...was.keys(), ...their.keys(), ...own.keys()])].flatMap((name) => {
    const other = (version: ReadonlyMap<string, string>) =>
      version.get(name) === was.get(name) ? undefined : shortText(version.get(name))
    const [theirText, ownText] = [other(their), other(own)]
    if (theirText === undefined && ownText === undefined) return []
    const row = { name, before: shortText(was.get(name)) }
    return [
      {
        ...row,
        ...(theirText === undefined ? {} : { theirs: theirText }),
        ...(ownText === undefined ? {} : { mine: ownText }),
      },
    ]
  })
}

/** The fields of a version as texts, with one for the time. */
const textsOf = (draft: TimerDraft, zone: string): ReadonlyMap<string, string> => {
  const { executeAt: _at, delay: _delay, ...others } = Object.fromEntries(membersOf(draft, zone))
  return new Map([["time", timeText(draft, zone)], ...Object.entries(others)])
}

const timeText = ({ when, atMs, delay }: TimerDraft, zone: string): string => {
  if (when === "in") return `${delay} after it is saved`
  return atMs === undefined ? "none" : `${exactText(atMs, zone)} ${offsetText(atMs, zone)}`
}

const shortText = (text: string | undefined): string =>
  text === undefined ? "none" : text.length > textMax ? `${text.slice(0, textMax)} …` : text
