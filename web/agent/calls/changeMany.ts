/** Changes of many calls, selected ones or all that match a filter: what they are called, and which calls they concern. */
import { type Call, type CallCounts, type CallStatus, changeManyCalls, statuses } from "../agentApi.ts"
import { bulkFilter, type CallSearch, countIn } from "./callSearch.ts"

export type ManyAct = "cancel" | "star" | "unstar" | "addTag" | "removeTag"

export const manyActs: Readonly<Record<ManyAct, { readonly label: string; readonly done: string }>> = {
  cancel: { label: "Cancel", done: "cancelled" },
  star: { label: "Star", done: "starred" },
  unstar: { label: "Remove the stars", done: "changed" },
  addTag: { label: "Add a tag", done: "tagged" },
  removeTag: { label: "Remove a tag", done: "changed" },
}

export const needsTag = (act: ManyAct): boolean => act === "addTag" || act === "removeTag"

const cancellable: ReadonlyArray<CallStatus> = ["Submitted", "Scheduled"]

/** The statuses that this concerns. Only calls that have not begun can be cancelled. */
export const statusesFor = (act: ManyAct, search: CallSearch): ReadonlyArray<CallStatus> => {
  const wanted = search.status.length === 0 ? statuses : search.status
  return act === "cancel" ? wanted.filter((status) => cancellable.includes(status)) : wanted
}

/** How many calls this would concern. Undefined until the counts are known. */
export const concernedBy = (
  act: ManyAct,
  search: CallSearch,
  counts: CallCounts | undefined,
): number | undefined => {
  if (counts === undefined) return undefined
  const wanted = statusesFor(act, search)
  return wanted.length === 0 ? 0 : countIn(counts, wanted)
}

/** Those of the selected calls that this would concern. */
export const concernedAmong = (act: ManyAct, selected: ReadonlyArray<Call>): ReadonlyArray<Call> =>
  act === "cancel" ? selected.filter(({ status }) => cancellable.includes(status)) : selected

export interface ManyResult {
  readonly changed: number
  readonly skipped: number
  readonly isDone: boolean
}

export interface ManyOptions {
  readonly tenant: string
  readonly act: ManyAct
  readonly tag: string
  readonly search: CallSearch
  readonly expectedCount: number
  /** Only these calls. */
  readonly selected: ReadonlyArray<Call> | undefined
  readonly signal: AbortSignal
  readonly onProgress: (result: ManyResult) => void
}

/** The limit of the contract. */
const idsPerRequest = 200

/** The service changes some at a time. The reader sees how far it is, and can stop it between two of them. */
export const runChange = (options: ManyOptions): Promise<ManyResult> =>
  options.selected === undefined ? changeMatching(options) : changeSelected(options, options.selected)

const changeSelected = async (
  { tenant, act, tag, signal, onProgress }: ManyOptions,
  selected: ReadonlyArray<Call>,
): Promise<ManyResult> => {
  const all = concernedAmong(act, selected).map(({ serviceCallId }) => serviceCallId)
  let result: ManyResult = { changed: 0, skipped: 0, isDone: all.length === 0 }
  for (let done = 0; done < all.length && !signal.aborted; done += idsPerRequest) {
    const ids = all.slice(done, done + idsPerRequest)
    const { changed } = await changeManyCalls(tenant, { do: act, ...tagOf(act, tag), ids }, signal)
    result = {
      changed: result.changed + changed,
      // A call that was removed meanwhile is skipped, too.
      skipped: result.skipped + ids.length - changed,
      isDone: done + ids.length === all.length,
    }
    onProgress(result)
  }
  return result
}

const tagOf = (act: ManyAct, tag: string): object => (needsTag(act) ? { tag } : {})

const changeMatching = async (options: ManyOptions): Promise<ManyResult> => {
  const { tenant, act, tag, search, expectedCount, signal, onProgress } = options
  const status = statusesFor(act, search)
  const filter = bulkFilter({ ...search, status: status.length === statuses.length ? [] : status })
  const body = { do: act, ...tagOf(act, tag), filter, expectedCount }
  let result: ManyResult = { changed: 0, skipped: 0, isDone: false }
  let cursor: string | undefined
  do {
    const request = cursor === undefined ? body : { ...body, cursor }
    const answer = await changeManyCalls(tenant, request, signal)
    cursor = answer.nextCursor
    result = {
      changed: result.changed + answer.changed,
      skipped: result.skipped + answer.skipped,
      isDone: cursor === undefined,
    }
    onProgress(result)
  } while (cursor !== undefined && !signal.aborted)
  return result
}
