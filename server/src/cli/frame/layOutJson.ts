// JSON text for people to read: one member a line. Only the white space between its tokens changes, so that what
// is shown is what is there: parsing the text and writing it again would round large numbers and drop duplicate
// keys. It expects a text that `JSON.parse` has accepted, and takes one pass without recursion, whatever its size
// and depth.

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

/** Deeper levels stand below one another: else the indentation of a hostile message would outgrow memory. */
const indentMax = 40

/** The index after the token that begins at `start`: a string, a mark, one white space, or a number or word. */
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
