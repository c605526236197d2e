// The calls between the main thread and the thread that owns the SQLite file.
import type { CallTables } from "./CallTables.ts"

export type TableCall = keyof CallTables & string

export type CallArguments<Name extends TableCall> = Parameters<CallTables[Name]>[0]
export type CallAnswer<Name extends TableCall> = ReturnType<CallTables[Name]>

export interface CallFileOptions {
  readonly path: string
}

export type CallFileRequest =
  | { readonly call: number; readonly name: TableCall; readonly asked: unknown }
  | { readonly close: true }

export type CallFileResponse =
  | { readonly kind: "opened" }
  | { readonly kind: "openFailed"; readonly message: string }
  | { readonly kind: "answer"; readonly call: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly call: number; readonly message: string }
  | { readonly kind: "fatal"; readonly message: string }
