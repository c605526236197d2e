import { call } from "../kit/serviceCall.ts"
import type { NamespacePage, NamespaceView } from "./api.ts"

/** Some namespaces whose names begin with this text. The service searches. The shortest match is the first. */
export const namespaceViewsLike = async (
  prefix: string,
  limit: number,
  signal?: AbortSignal,
): Promise<ReadonlyArray<NamespaceView>> => {
  const request = { limit, ...(prefix === "" ? {} : { prefix }) }
  const { namespaces } = await call<NamespacePage>("namespaces/list", request, signal)
  return namespaces
}

/** The same, by name. */
export const namespacesLike = async (
  prefix: string,
  limit: number,
  signal?: AbortSignal,
): Promise<ReadonlyArray<string>> =>
  (await namespaceViewsLike(prefix, limit, signal)).map(({ namespace }) => namespace)
