/** A call as a Python program. */
import { type ClientCall, clientCallOf, isObject, type Json, keepsNumbers } from "./clientCall.ts"
import { type CallToCopy, keyVariable, type ServiceToCall } from "./copyAs.ts"

/** `undefined` if the client library has no call for it. */
export const pythonText = (call: CallToCopy, { url, needsKey }: ServiceToCall): string | undefined => {
  const known = clientCallOf(call)
  if (known === undefined) return undefined
  const fields = argumentsOf(known).map(([name, value]) => `        ${name}=${value},\n`)
  const isRaw = fields.some((field) => field.includes("=RawJson("))
  return [
    `from punctual_client import Punctual${isRaw ? ", RawJson" : ""}`,
    "",
    ...(needsKey ? [`# The client reads the key from ${keyVariable}.`] : []),
    `with Punctual(url=${JSON.stringify(url)}) as punctual:`,
    `    answer = punctual.timers.${known.method}(\n${fields.join("")}    )`,
    "    print(answer)",
  ].join("\n")
}

const argumentsOf = ({ fields, payload }: ClientCall): ReadonlyArray<readonly [string, string]> => [
  ...[...fields].map(([name, value]) => [snakeCase(name), literal(value, namesOf(name))] as const),
  ...(payload === undefined ? [] : [["payload", payloadOf(payload)] as const]),
]

/** Fractions are the only numbers that Python may write in another way than they were given. */
const payloadOf = (text: string): string =>
  keepsNumbers(text) || !/\d[.eE]/.test(text) ? fromText(text) : `RawJson(${JSON.stringify(text)})`

/** Python reads whole numbers of any size, so they are copied from the text. */
const fromText = (text: string): string =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"|true|false|null|\s+|[^\s"tfn]+/g)]
    .map(([token]) => {
      if (token.startsWith('"')) return JSON.stringify(JSON.parse(token))
      if (/^\s/.test(token)) return token.includes("\n") ? token.replaceAll("\n", "\n        ") : token
      return words[token] ?? token
    })
    .join("")

const words: Readonly<Record<string, string>> = { true: "True", false: "False", null: "None" }

/** The names of headers are the caller's own. All other names are the library's. */
const namesOf = (name: string) => (name === "headers" ? (own: string) => own : snakeCase)

const literal = (value: Json, rename: (name: string) => string): string => {
  if (Array.isArray(value)) return `[${value.map((item: Json) => literal(item, rename)).join(", ")}]`
  if (isObject(value))
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(rename(name))}: ${literal(member, namesOf(name))}`)
      .join(", ")}}`
  return typeof value === "string" ? JSON.stringify(value) : (words[String(value)] ?? String(value))
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
