// Statements prepared once, by name.
import type { Database, Statement } from "bun:sqlite"

export const prepareAll = <Texts extends { readonly [name: string]: string }>(
  database: Database,
  texts: Texts,
): { readonly [name in keyof Texts]: Statement } =>
  // `Object.fromEntries` widens the keys to `string`.
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, database.prepare(text)])) as {
    readonly [name in keyof Texts]: Statement
  }
