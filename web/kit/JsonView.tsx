/** JSON as a tree that can be folded, and as the text itself. */
import { useState } from "react"
import { CopyButton } from "./CopyButton.tsx"
import { type JsonNode, jsonTree } from "./jsonTree.ts"
import "./json.css"
import { Switch } from "./Switch.tsx"

const openLevels = 2
const openEntries = 50

export const JsonView = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const [isRaw, setRaw] = useState(false)
  const tree = isRaw ? undefined : jsonTree(text)
  return (
    <div className="json">
      <div className="json-tools">
        <Switch
          label="Form"
          value={isRaw ? "raw" : "tree"}
          options={[
            { value: "tree", label: "Tree" },
            { value: "raw", label: "Raw" },
          ]}
          onChange={(form) => setRaw(form === "raw")}
        />
        <span className="muted figures">
          {new TextEncoder().encode(text).length.toLocaleString("en")} bytes
        </span>
        <CopyButton text={text} what={what} />
      </div>
      {tree === undefined ? <pre className="json-raw">{text}</pre> : <Node node={tree} level={0} />}
    </div>
  )
}

const Node = ({
  node,
  name,
  level,
}: {
  readonly node: JsonNode
  readonly name?: string
  readonly level: number
}) => {
  const [isOpen, setOpen] = useState(level < openLevels)
  const label = name === undefined ? null : <span className="json-name">{name}: </span>
  if (node.kind === "value") {
    return (
      <div className="json-line">
        {label}
        <span className={`json-${node.type}`}>{node.text}</span>
      </div>
    )
  }
  const close = node.open === "{" ? "}" : "]"
  if (node.entries.length === 0) {
    return (
      <div className="json-line">
        {label}
        {node.open}
        {node.isCut ? " … " : ""}
        {close}
      </div>
    )
  }
  return (
    <details
      className="json-list"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        {label}
        {node.open}
        {!isOpen && <span className="muted">{` ${node.entries.length} ${close}`}</span>}
      </summary>
      {isOpen && <Entries node={node} level={level + 1} />}
      <div>{close}</div>
    </details>
  )
}

const Entries = ({
  node,
  level,
}: {
  readonly node: JsonNode & { readonly kind: "list" }
  readonly level: number
}) => {
  const [count, setCount] = useState(openEntries)
  const hidden = node.entries.length - count
  return (
    <div className="json-entries">
      {node.entries.slice(0, count).map(({ name, value }, index) => (
        // Names may repeat, so the place is the key.
        <Node key={String(index)} node={value} level={level} {...(name === undefined ? {} : { name })} />
      ))}
      {hidden > 0 && (
        <button type="button" className="json-more" onClick={() => setCount(count + 500)}>
          {hidden.toLocaleString("en")} more
        </button>
      )}
      {node.isCut && <div className="muted">The rest is only in the raw text.</div>}
    </div>
  )
}
