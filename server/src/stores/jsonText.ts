// Checks the shape of JSON text from a database by hand. A store's threads load no schema library, and rows are read by
// the thousand.

/** An object with these fields of unknown types. */
export type JsonFields<Names extends string> = { readonly [name in Names]?: unknown }

/** `undefined` if the text is not JSON. The error is not passed on, because it may contain a caller's secret. */
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
