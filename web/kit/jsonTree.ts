/**
 * Reads JSON text into a tree that keeps every value as it was written. `JSON.parse` would round large numbers and drop
 * repeated names, and the reader would see another payload than the receiver.
 */
export type JsonNode =
  | { readonly kind: "value"; readonly type: "string" | "number" | "word"; readonly text: string }
  | {
      readonly kind: "list"
      readonly open: "[" | "{"
      readonly entries: ReadonlyArray<JsonEntry>
      readonly isCut: boolean
    }

export interface JsonEntry {
  /** As written, with its quotes. Absent in an array. */
  readonly name?: string
  readonly value: JsonNode
}

const nodesMax = 20_000

/** Undefined if the text is not JSON. Of very large values it shows the first part. */
export const jsonTree = (text: string): JsonNode | undefined => {
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|-?\d[\d.eE+-]*|true|false|null/g)
  let nodes = 0
  const next = (): string | undefined => tokens.next().value?.[0]
  const read = (token: string | undefined): JsonNode | undefined => {
    if (token === undefined) return undefined
    nodes++
    if (token !== "{" && token !== "[") {
      const type = token.startsWith('"') ? "string" : /^[-\d]/.test(token) ? "number" : "word"
      return { kind: "value", type, text: token }
    }
    const entries: Array<JsonEntry> = []
    let isCut = false
    for (let found = next(); found !== undefined && found !== "}" && found !== "]"; found = next()) {
      if (found === ",") continue
      const name = token === "{" ? found : undefined
      if (name !== undefined) next()
      const value = read(name === undefined ? found : next())
      if (value === undefined) break
      if (nodes < nodesMax) entries.push(name === undefined ? { value } : { name, value })
      else isCut = true
    }
    return { kind: "list", open: token, entries, isCut }
  }
  return read(next())
}
