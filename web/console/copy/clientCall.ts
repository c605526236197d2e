/**
 * What the programs in all languages need from a call: its method in the client libraries, and its fields as values. The
 * payload stays text, so that its numbers keep all their digits.
 */
import type { CallToCopy } from "./copyAs.ts"

export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [name: string]: Json }

export interface ClientCall {
  readonly method: "create" | "update" | "get" | "cancel"
  /** All fields except the payload. */
  readonly fields: ReadonlyMap<string, Json>
  /** The JSON text of the payload. */
  readonly payload: string | undefined
}

const methods: Readonly<Record<string, ClientCall["method"]>> = {
  "timers/create": "create",
  "timers/update": "update",
  "timers/get": "get",
  "timers/delete": "cancel",
}

/** `undefined` if the client libraries have no such call about one timer. */
export const clientCallOf = ({ path, members }: CallToCopy): ClientCall | undefined => {
  const method = methods[path]
  if (method === undefined) return undefined
  const fields = [...members].flatMap(
    ([name, text]): ReadonlyArray<readonly [string, Json]> =>
      name === "payload" ? [] : [[name, JSON.parse(text) as Json]],
  )
  return { method, fields: new Map(fields), payload: members.get("payload") }
}

export const isObject = (value: Json | undefined): value is { readonly [name: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether the numbers of a JSON text are still the same after JavaScript has read and written them. */
export const keepsNumbers = (text: string): boolean => {
  const numbers = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "").match(/-?\d[\d.eE+-]*/g) ?? []
  return numbers.every((number) => String(Number(number)) === number)
}

/** The name with a capital letter: `TimerId`. */
export const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)
