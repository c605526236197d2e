/** The rows of the list of keys. */
import { Badge, type Tone } from "../../kit/Badge.tsx"
import { Menu, type MenuItem } from "../../kit/Menu.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { call } from "../../kit/serviceCall.ts"
import { toast } from "../../kit/toasts.tsx"
import { namespacesText, rightsText, roleOf } from "./rights.ts"
import { type ApiKey, useKeyRefresh } from "./useKeys.ts"

export interface KeyRowsProps {
  readonly keys: ReadonlyArray<ApiKey>
  /** The id of the reader's own key. */
  readonly ownId: string | undefined
  readonly onRotate: (apiKey: ApiKey) => void
  readonly onRevoke: (apiKey: ApiKey) => void
}

const tones: Readonly<Record<ApiKey["state"], Tone>> = {
  active: "good",
  expired: "neutral",
  revoked: "neutral",
  unconfirmed: "warning",
  unreadable: "bad",
}

const columns = ["Key", "State", "May do", "Where", "Created", "Last used", "Expires"] as const

export const KeyRows = ({ keys, ...rest }: KeyRowsProps) => (
  <div className="table-scroll">
    <table className="table keys-table">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
          <th scope="col">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((apiKey) => (
          <KeyRow key={apiKey.id} apiKey={apiKey} {...rest} />
        ))}
      </tbody>
    </table>
  </div>
)

const KeyRow = ({
  apiKey,
  ownId,
  onRotate,
  onRevoke,
}: Omit<KeyRowsProps, "keys"> & { readonly apiKey: ApiKey }) => {
  const items = useKeyItems(apiKey, onRotate, onRevoke)
  const { id, label, state, actions, namespaces, createdAt, madeBy, lastUsedAt, expiresAt, oldSecretUntil } =
    apiKey
  return (
    <tr>
      <td data-label="Key" className="key-name">
        <strong>{label === "" ? "unreadable" : label}</strong>
        {id === ownId && <Badge tone="accent">yours</Badge>}
        <code className="muted">{id}</code>
      </td>
      <td data-label="State">
        <Badge tone={tones[state]}>{state}</Badge>
        {oldSecretUntil !== undefined && (
          <span className="key-more muted">
            old text ends <Moment at={oldSecretUntil} />
          </span>
        )}
      </td>
      <td data-label="May do" className={roleOf(actions) === undefined ? "key-rights" : undefined}>
        {rightsText(actions)}
      </td>
      <td data-label="Where">{namespacesText(namespaces)}</td>
      <td data-label="Created">
        {createdAt === undefined ? "" : <Moment at={createdAt} />}
        {madeBy !== undefined && <span className="key-more muted">by {madeBy}</span>}
      </td>
      <td data-label="Last used">{lastUsedAt === undefined ? "never" : <Moment at={lastUsedAt} />}</td>
      <td data-label="Expires">{expiresAt === undefined ? "never" : <Moment at={expiresAt} />}</td>
      <td className="key-menu">
        {items.length > 0 && <Menu look="quiet" icon="more" label={`Actions for ${label}`} items={items} />}
      </td>
    </tr>
  )
}

const useKeyItems = (
  apiKey: ApiKey,
  onRotate: (apiKey: ApiKey) => void,
  onRevoke: (apiKey: ApiKey) => void,
): ReadonlyArray<MenuItem> => {
  const refresh = useKeyRefresh()
  const confirm = async () => {
    try {
      await call("keys/confirm", { id: apiKey.id })
      toast(`The key “${apiKey.label}” works again.`)
      refresh()
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), true)
    }
  }
  const { state } = apiKey
  return [
    ...(state === "unconfirmed"
      ? [{ label: "Confirm", icon: "check" as const, onChoose: () => void confirm() }]
      : []),
    ...(state === "active"
      ? [{ label: "Rotate", icon: "replay" as const, onChoose: () => onRotate(apiKey) }]
      : []),
    ...(state === "revoked" || state === "unreadable"
      ? []
      : [{ label: "Revoke", icon: "trash" as const, isDangerous: true, onChoose: () => onRevoke(apiKey) }]),
  ]
}
