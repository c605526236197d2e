// Escapes text for HTML, and formats JSON for readers.

/** For text and for attribute values in double quotes. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => entities[character] ?? character)

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

/**
 * Text that may name fields and values. Text in backquotes becomes code, and so do words of the contract: names of
 * fields and codes such as executeAt, headers such as webhook-id, and settings.
 */
export const prose = (text: string): string =>
  escapeHtml(text).replace(contractWord, (whole, quoted?: string) => `<code>${quoted ?? whole}</code>`)

const contractWord =
  /`([^`]+)`|\b(?:[a-z]+[A-Z]\w*|(?:webhook|punctual|retry)-[a-z][\w-]*|[A-Z]+_[A-Z_]+(?:=\w+)?)(?![\w*])/g

/** JSON on several lines. Short values stay on one line. */
export const prettyJson = (value: unknown, indent = ""): string => {
  const flat = flatJson(value)
  if (typeof value !== "object" || value === null) return flat
  if (indent !== "" && indent.length + flat.length <= inlineChars) return flat
  const deeper = `${indent}  `
  const isArray = Array.isArray(value)
  const parts = Object.entries(value).map(([key, inner]) => {
    const text = prettyJson(inner, deeper)
    return deeper + (isArray ? text : `${JSON.stringify(key)}: ${text}`)
  })
  if (parts.length === 0) return flat
  const [open, close] = isArray ? "[]" : "{}"
  return `${open}\n${parts.join(",\n")}\n${indent}${close}`
}

const inlineChars = 56

const flatJson = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : `[${value.map(flatJson).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const parts = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${flatJson(inner)}`)
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`
}

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?/g

/** JSON text whose keys, strings and other values are marked for colours. */
export const colouredJson = (text: string): string => {
  let html = ""
  let end = 0
  for (const match of text.matchAll(token)) {
    const [whole, quoted, colon] = match
    html += escapeHtml(text.slice(end, match.index))
    if (quoted === undefined) html += `<span class="n">${whole}</span>`
    else html += `<span class="${colon === undefined ? "s" : "k"}">${escapeHtml(quoted)}</span>${colon ?? ""}`
    end = match.index + whole.length
  }
  return html + escapeHtml(text.slice(end))
}
