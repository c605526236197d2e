/** Finds the first mistake in a text that should be JSON, and lays JSON out without changing its values. */

export interface JsonFault {
  /** Where it is, in UTF-16 code units. */
  readonly at: number
  /** From 1. */
  readonly line: number
  readonly column: number
  readonly message: string
}

const tokenPattern =
  /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\n\r\t]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])|((?:true|false|null)(?!\w)))/y

type Wanted = "value" | "value or ]" | "name" | "name or }" | "colon" | "comma or end"

const wantedWords: Readonly<Record<Wanted, string>> = {
  value: "a value",
  "value or ]": "a value or ]",
  name: 'a name in double quotes, such as "n"',
  "name or }": 'a name in double quotes, such as "n", or }',
  colon: "a colon",
  "comma or end": "a comma or the end of the list",
}

/** Undefined if the text is JSON. */
export const jsonFault = (text: string): JsonFault | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const { at, message } = firstFault(text) ?? {
      at: 0,
      message: error instanceof Error ? error.message : String(error),
    }
    const lines = text.slice(0, at).split("\n")
    return { at, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, message }
  }
}

const firstFault = (text: string): Pick<JsonFault, "at" | "message"> | undefined => {
  const open: Array<"{" | "["> = []
  let wanted: Wanted = "value"
  let at = 0
  for (;;) {
    tokenPattern.lastIndex = at
    const match = tokenPattern.exec(text)
    const token = match?.[1] ?? match?.[2] ?? match?.[3] ?? match?.[4]
    const start = match === null ? at + spaceBefore(text, at) : tokenPattern.lastIndex - (token?.length ?? 0)
    const isOver: boolean = open.length === 0 && wanted === "comma or end"
    if (token === undefined) {
      if (start >= text.length)
        return isOver ? undefined : { at: start, message: `${endText} ${missing(wanted, isOver)}` }
      return { at: start, message: strangeText(text.charAt(start), wanted, isOver) }
    }
    const next: Wanted | undefined = isOver ? undefined : after(token, wanted, open)
    if (next === undefined) return { at: start, message: strangeText(token, wanted, isOver) }
    wanted = next
    at = tokenPattern.lastIndex
  }
}

const endText = "The text ends too early:"

const missing = (wanted: Wanted, isOver: boolean): string =>
  isOver ? "" : `${wantedWords[wanted]} is missing.`

const strangeText = (token: string, wanted: Wanted, isOver: boolean): string => {
  if (isOver) return "There is more text after the end of the value."
  if (token.startsWith("'")) return "JSON needs double quotes."
  if (token === '"' && wanted !== "colon" && wanted !== "comma or end") {
    return "This text has no closing quote, or a character in it must be escaped."
  }
  const shown = token.length > 20 ? `${token.slice(0, 20)}…` : token
  return `${shown} stands where ${wantedWords[wanted]} must be.`
}

const spaceBefore = (text: string, at: number): number =>
  /^[ \t\n\r]*/.exec(text.slice(at, at + 10_000))?.[0].length ?? 0

/** What must follow. Undefined if the token cannot stand here. */
const after = (token: string, wanted: Wanted, open: Array<"{" | "[">): Wanted | undefined => {
  if (token === ":") return wanted === "colon" ? "value" : undefined
  if (token === ",") {
    if (wanted !== "comma or end") return undefined
    return open.at(-1) === "{" ? "name" : "value"
  }
  if (token === "}" || token === "]") {
    const mayEnd = wanted === "comma or end" || wanted === (token === "}" ? "name or }" : "value or ]")
    return mayEnd && open.pop() === (token === "}" ? "{" : "[") ? "comma or end" : undefined
  }
  if (wanted === "name" || wanted === "name or }") return token.startsWith('"') ? "colon" : undefined
  if (wanted !== "value" && wanted !== "value or ]") return undefined
  if (token !== "{" && token !== "[") return "comma or end"
  open.push(token)
  return token === "{" ? "name or }" : "value or ]"
}

const indentation = "  "

/** Lays the text out over several lines. Every value stays as it was written. The text must be JSON. */
export const formatJson = (text: string): string => {
  const parts: Array<string> = []
  let depth = 0
  let last = ""
  const line = () => `\n${indentation.repeat(depth)}`
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const isEnd = token === "}" || token === "]"
    if (isEnd) depth--
    const isAfterOpening = last === "{" || last === "["
    if (isEnd ? !isAfterOpening : isAfterOpening || last === ",") parts.push(line())
    parts.push(token === ":" ? ": " : token)
    if (token === "{" || token === "[") depth++
    last = token
  }
  return parts.join("")
}
