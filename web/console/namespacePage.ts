import { call } from "../kit/serviceCall.ts"
import type { NamespacePage } from "./api.ts"

export interface NamespacesAsked {
  /** Only names that begin with this; empty for all. */
  readonly prefix: string
  readonly cursor: string | undefined
  readonly limit: number
}

/** One page of the list of namespaces. */
export const namespacePage = (
  { prefix, cursor, limit }: NamespacesAsked,
  signal?: AbortSignal,
): Promise<NamespacePage> =>
  call(
    "namespaces/list",
    { limit, ...(prefix === "" ? {} : { prefix }), ...(cursor === undefined ? {} : { cursor }) },
    signal,
  )
