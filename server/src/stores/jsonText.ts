// The shape of JSON that a database holds as text, checked by hand: a store's threads load no schema library, and rows are
// read by the thousand.

/** An object of which these fields are looked at. */
export type JsonFields<Names extends string> = { readonly [name in Names]?: unknown }

/** Nothing if the text is no JSON. What is wrong with it is not repeated: it may be a caller's secret. */
export const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isFields = <Names extends string>(json: unknown): json is JsonFields<Names> =>
  typeof json === "object" && json !== null && !Array.isArray(json)

export const areNumbers = <Names extends string>(
  json: JsonFields<Names>,
  names: ReadonlyArray<Names>,
): boolean => names.every((name) => typeof json[name] === "number")

export const isNumberIfAny = (json: unknown): boolean => json === undefined || typeof json === "number"

export const isTextIfAny = (json: unknown): boolean => json === undefined || typeof json === "string"
