/**
 * A field for JSON: coloured, with the first mistake marked in its line. The colours are drawn behind a plain text field,
 * so typing, selecting, undoing and screen readers work as in every other field.
 */
import type { TextareaHTMLAttributes } from "react"
import type { JsonFault } from "./jsonFault.ts"
import "./editor.css"

export interface JsonEditorProps
  extends Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "value" | "onChange"> {
  readonly text: string
  readonly fault: JsonFault | undefined
  /** False for plain text. */
  readonly isJson: boolean
  readonly onText: (text: string) => void
}

/** Colours of a longer text would make typing slow. */
const colouredMax = 50_000

export const JsonEditor = ({ text, fault, isJson, onText, ...rest }: JsonEditorProps) => (
  <div className="editor">
    <div className="editor-page">
      <pre className="editor-back" aria-hidden="true">
        {isJson && text.length <= colouredMax ? <Coloured text={text} fault={fault} /> : text}
        {"\n"}
      </pre>
      <textarea
        {...rest}
        value={text}
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="off"
        onChange={({ target }) => onText(target.value)}
      />
    </div>
  </div>
)

const tokens = /("(?:[^"\\\n]|\\.)*"?)(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g

interface Piece {
  readonly at: number
  readonly text: string
  readonly kind: string
}

/** The text in pieces of one colour. */
export const colouredPieces = (text: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let end = 0
  for (const match of text.matchAll(tokens)) {
    const [whole, quoted, colon, number] = match
    if (match.index > end) pieces.push({ at: end, text: text.slice(end, match.index), kind: "plain" })
    const token = quoted ?? whole
    const kind =
      quoted === undefined
        ? number === undefined
          ? "word"
          : "number"
        : colon === undefined
          ? "string"
          : "name"
    pieces.push({ at: match.index, text: token, kind })
    end = match.index + token.length
    if (colon !== undefined) {
      pieces.push({ at: end, text: colon, kind: "plain" })
      end += colon.length
    }
  }
  if (end < text.length) pieces.push({ at: end, text: text.slice(end), kind: "plain" })
  return pieces
}

const Coloured = ({ text, fault }: Pick<JsonEditorProps, "text" | "fault">) =>
  colouredPieces(text).map((piece) => (
    <span key={piece.at} className={`json-${piece.kind}`}>
      {fault !== undefined && fault.at >= piece.at && fault.at < piece.at + piece.text.length ? (
        <>
          {piece.text.slice(0, fault.at - piece.at)}
          <mark className="editor-fault">{piece.text.slice(fault.at - piece.at)}</mark>
        </>
      ) : (
        piece.text
      )}
    </span>
  ))
