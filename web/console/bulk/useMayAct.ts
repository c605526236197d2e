import { useMay } from "../../kit/self.ts"
import { type BulkDeed, deeds } from "./bulkJob.ts"

interface Scope {
  readonly namespace?: string
  readonly namespaces?: ReadonlyArray<string>
}

/** Whether the reader may do this in all namespaces of a filter: names, prefixes, or all. */
export const useMayAct = (): ((deed: BulkDeed, scope: Scope) => boolean) => {
  const may = useMay()
  return (deed, { namespace, namespaces = [] }) =>
    (namespace === undefined ? namespaces : [namespace]).every(
      (name) => may("timers.read", name) && may(deeds[deed].action, name),
    )
}
