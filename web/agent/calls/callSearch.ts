/** The filter and the order of the list of calls, as the address holds them. All functions are pure. */
import type { Parameters } from "../../kit/places.ts"
import { type CallCounts, type CallStatus, statuses } from "../agentApi.ts"

export interface CallSearch {
  readonly status: ReadonlyArray<CallStatus>
  /** Absent: with and without a star. */
  readonly starred?: boolean
  readonly name?: string
  readonly tag?: string
  readonly method?: string
  readonly host?: string
  /** ISO 8601, of the due time. */
  readonly from?: string
  readonly until?: string
  readonly sort: "submitted" | "due"
  readonly order: "asc" | "desc"
}

/** The fields of the filter that are plain text, as the address and the API name them. */
export const textFilters = ["name", "tag", "method", "host", "from", "until"] as const

export type TextFilter = (typeof textFilters)[number]

export const callMethodNames = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

/** What makes no sense in an address is left out. The service checks the rest, and the page shows what it says. */
export const searchOf = (parameters: URLSearchParams): CallSearch => {
  const named = (parameters.get("status") ?? "").split(",")
  const starred = parameters.get("starred")
  return {
    status: statuses.filter((status) => named.includes(status)),
    ...(starred === "true" || starred === "false" ? { starred: starred === "true" } : {}),
    ...Object.fromEntries(
      textFilters.flatMap((field) => {
        const text = parameters.get(field)
        return text === null || text === "" ? [] : [[field, text]]
      }),
    ),
    sort: parameters.get("sort") === "due" ? "due" : "submitted",
    order: parameters.get("order") === "asc" ? "asc" : "desc",
  }
}

/** The filter as the query of a list. */
export const filterQuery = ({ status, starred, sort: _, order: __, ...texts }: CallSearch) => ({
  ...(status.length === 0 ? {} : { status: status.join(",") }),
  ...(starred === undefined ? {} : { starred: String(starred) }),
  ...texts,
})

/** Filter and order as the query of a list. */
export const listQuery = (search: CallSearch): Readonly<Record<string, string>> => ({
  ...filterQuery(search),
  ...(search.sort === "submitted" ? {} : { sort: search.sort }),
  ...(search.order === "desc" ? {} : { order: search.order }),
})

/** The filter as the JSON of a bulk request. */
export const bulkFilter = ({ sort: _, order: __, status, ...rest }: CallSearch): object => ({
  ...(status.length === 0 ? {} : { status }),
  ...rest,
})

/** Parameters of the address without any filter. */
export const noFilter: Parameters = {
  status: undefined,
  starred: undefined,
  ...Object.fromEntries(textFilters.map((field) => [field, undefined])),
}

export const isFiltered = ({ status, sort: _, order: __, ...rest }: CallSearch): boolean =>
  status.length > 0 || Object.keys(rest).length > 0

/** Adds a status to the filter, or removes it. All of them are the same as none. */
export const toggledStatus = (search: CallSearch, status: CallStatus): string | undefined => {
  const next = statuses.filter((each) => search.status.includes(each) !== (each === status))
  return next.length === 0 || next.length === statuses.length ? undefined : next.join(",")
}

/** How many calls the counts name in these statuses; in all of them if there are none. */
export const countIn = (counts: CallCounts, wanted: ReadonlyArray<CallStatus>): number =>
  (wanted.length === 0 ? statuses : wanted).reduce((sum, status) => sum + counts[status], 0)
