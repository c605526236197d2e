// Formats JSON text for people: one member on each line. It changes only the white space between tokens, because
// parsing the text and writing it again would round large numbers and drop duplicate keys. `JSON.parse` must have
// accepted the text. The function makes one pass without recursion, so size and depth of the text are no danger.

export const layOutJson = (json: string): string => {
  const parts: Array<string> = []
  let depth = 0
  let isJustOpened = false
  const newLine = () => parts.push("\n", "  ".repeat(Math.min(depth, indentMax)))
  for (let at = 0; at < json.length; ) {
    const end = tokenEnd(json, at)
    const token = json.slice(at, end)
    at = end
    if (/\s/.test(token[0] ?? "")) continue
    if (token === "}" || token === "]") {
      depth--
      if (!isJustOpened) newLine()
    } else if (isJustOpened) newLine()
    parts.push(token === ":" ? ": " : token)
    isJustOpened = token === "{" || token === "["
    if (isJustOpened) depth++
    if (token === ",") newLine()
  }
  return parts.join("")
}

/** Deeper levels get no more indentation: otherwise the indentation of a hostile message could exhaust memory. */
const indentMax = 40

/** The index after the token at `start`: a string, a punctuation mark, one white space, a number or a word. */
const tokenEnd = (json: string, start: number): number => {
  const first = json[start] ?? ""
  if (/[\s{}[\]:,]/.test(first)) return start + 1
  let at = start + 1
  if (first === '"') {
    while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1
    return at + 1
  }
  while (at < json.length && !/[\s{}[\]:,]/.test(json[at] ?? "")) at++
  return at
}
