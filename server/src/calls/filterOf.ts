// A filter of the contract in the words of the store.
import type { ListFilter } from "../ports/TimerStore.ts"

export const filterOf = (filter: {
  readonly from?: number
  readonly until?: number
  readonly idPrefix?: string
  readonly correlationId?: string
  readonly tag?: string
}): ListFilter => ({
  ...(filter.from === undefined ? {} : { inclusiveFromMs: filter.from }),
  ...(filter.until === undefined ? {} : { exclusiveUntilMs: filter.until }),
  ...(filter.idPrefix === undefined ? {} : { idPrefix: filter.idPrefix }),
  ...(filter.correlationId === undefined ? {} : { correlationId: filter.correlationId }),
  ...(filter.tag === undefined ? {} : { tag: filter.tag }),
})
