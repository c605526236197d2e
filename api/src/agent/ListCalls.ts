/**
 * Which service calls a list shows, and which a bulk request changes. A list gets its filter in the query of the URL,
 * where every value is text. A bulk request has the same filter as JSON.
 */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"
import { Count } from "../Count.ts"
import { described, usedFor } from "../described.ts"
import { Instant } from "../Instant.ts"
import { exactlyOneOf } from "../oneOf.ts"
import { Tag } from "../Tags.ts"
import { canonicalHost } from "../TargetHost.ts"
import { CallMethod } from "./CallRequest.ts"
import { callLimits } from "./callLimits.ts"
import { ServiceCallId } from "./ServiceCallId.ts"
import { callStatuses, ServiceCallView } from "./ServiceCallView.ts"
import { ServiceCallName } from "./SubmitCall.ts"

type CallStatusName = (typeof callStatuses)[number]

const statusMessage = `must be one or several of ${callStatuses.join(", ")}`

const statusesOf = (names: ReadonlyArray<string>): ReadonlyArray<CallStatusName> | undefined => {
  const known = names.flatMap((name) => callStatuses.find((status) => status === name) ?? [])
  return known.length === names.length && new Set(known).size === known.length ? known : undefined
}

const hostMessage =
  'must be a host such as "api.example.com" or "api.example.com:8443", without scheme and path'

const CallHost = Schema.String.annotate({ message: hostMessage }).check(
  Schema.makeFilter((text: string) => (canonicalHost(text) === undefined ? hostMessage : undefined), {
    toJsonSchema: () => [{ minLength: 1, maxLength: 260 }, true],
    description: "Only calls to this host. A port counts if the URL names one.",
    examples: ["api.example.com"],
  }),
)

/** The fields of the filter that are text in both forms. */
const textFields = {
  tag: Schema.optionalKey(Tag),
  name: Schema.optionalKey(
    ServiceCallName.pipe(usedFor("Only calls with this in their names, in any case.")),
  ),
  method: Schema.optionalKey(CallMethod),
  host: Schema.optionalKey(CallHost),
  from: Schema.optionalKey(Instant.pipe(described("Only calls that are due at this instant or later."))),
  until: Schema.optionalKey(Instant.pipe(described("Only calls that are due before this instant."))),
}

const statusItem = Schema.Literals(callStatuses).annotate({
  message: `must be one of ${callStatuses.join(", ")}`,
})

const CallFilterFields = Schema.Struct({
  status: Schema.optionalKey(
    Schema.Array(statusItem)
      .annotate({ message: "must be an array of statuses" })
      .check(
        Schema.isBetweenLength(1, callStatuses.length, {
          message: `must have 1 to ${callStatuses.length} statuses`,
          description: "Only calls with one of these statuses.",
        }),
      ),
  ),
  starred: Schema.optionalKey(
    Schema.Boolean.annotate({
      message: "must be true or false",
      description: "Only calls with, or without, a star.",
    }),
  ),
  ...textFields,
}).annotate({
  message: "must be a JSON object",
  identifier: "ServiceCallFilter",
  description: "Which calls. All fields must match. {} means all calls of the tenant.",
})

/** A value that is text on the wire, and something else in the program. */
const fromText = <A>(
  parse: (text: string) => A | undefined,
  format: (value: A) => string,
  wire: { readonly message: string; readonly description: string; readonly examples: readonly [string] },
  jsonSchema: Readonly<Record<string, unknown>> = {},
) =>
  Schema.String.annotate({ message: wire.message })
    .check(Schema.makeFilter((_: string) => undefined, { toJsonSchema: () => jsonSchema, ...wire }))
    .pipe(
      Schema.decodeTo(Schema.Any as Schema.Codec<A>, {
        decode: SchemaGetter.transformEffect((text: string) => {
          const value = parse(text)
          return value === undefined
            ? Effect.fail(new SchemaIssue.InvalidValue({ message: wire.message }))
            : Effect.succeed(value)
        }),
        encode: SchemaGetter.transform(format),
      }),
    )

/** The size of a page. `pattern` matches the numbers from 1 to `most`. */
export const pageLimit = (most: number, pattern: string, description: string) => {
  const isLimit = new RegExp(pattern)
  const message = `must be a whole number from 1 to ${most}`
  return fromText(
    (text) => (isLimit.test(text) ? Number(text) : undefined),
    String,
    { message, description, examples: ["50"] },
    { pattern },
  )
}

const cursorMessage = "must be the nextCursor of an earlier answer"

export const CallCursor = Schema.String.annotate({ message: cursorMessage }).check(
  Schema.isBetweenLength(1, callLimits.cursorLength, {
    message: cursorMessage,
    description: "The nextCursor of an earlier answer to the same request.",
  }),
)

export const callSorts = ["submitted", "due"] as const

export const ListCallsQuery = Schema.Struct({
  status: Schema.optionalKey(
    fromText(
      (text) => statusesOf(text.split(",")),
      (statuses) => statuses.join(","),
      {
        message: `${statusMessage}, separated by commas`,
        description: "Only calls with one of these statuses, separated by commas.",
        examples: ["Scheduled,Running"],
      },
      { pattern: `^(${callStatuses.join("|")})(,(${callStatuses.join("|")}))*$` },
    ),
  ),
  starred: Schema.optionalKey(
    fromText(
      (text) => (text === "true" ? true : text === "false" ? false : undefined),
      String,
      {
        message: "must be true or false",
        description: "Only calls with, or without, a star.",
        examples: ["true"],
      },
      { enum: ["true", "false"] },
    ),
  ),
  ...textFields,
  sort: Schema.optionalKey(
    Schema.Literals(callSorts).annotate({
      message: `must be one of ${callSorts.join(", ")}`,
      description: "By the time of submission (default) or by due time.",
    }),
  ),
  order: Schema.optionalKey(
    Schema.Literals(["asc", "desc"]).annotate({
      message: "must be asc or desc",
      description: "desc (default): latest first.",
    }),
  ),
  cursor: Schema.optionalKey(CallCursor),
  limit: Schema.optionalKey(
    pageLimit(
      callLimits.listPage,
      "^([1-9][0-9]?|1[0-9]{2}|200)$",
      `The size of a page: 1 to ${callLimits.listPage}, by default ${callLimits.listPageDefault}.`,
    ),
  ),
}).annotate({ message: "must be a query such as ?status=Failed&limit=50" })

export type ListCallsQuery = typeof ListCallsQuery.Type

const StatusCounts = Schema.Struct({
  ...(Object.fromEntries(callStatuses.map((status) => [status, Count])) as Record<
    CallStatusName,
    typeof Count
  >),
  capped: Schema.Boolean.annotate({
    description: "true if there are more calls than are counted. Then the numbers are lower bounds.",
  }),
}).annotate({
  identifier: "ServiceCallCounts",
  description: "How many calls match the filter in each status, whatever the filter says about the status.",
})

export const ListCallsAnswer = Schema.Struct({
  calls: Schema.Array(ServiceCallView),
  counts: Schema.optionalKey(StatusCounts),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({ description: "Present if there are more calls. Send it as cursor." }),
  ),
}).annotate({
  identifier: "ListCallsAnswer",
  description: "One page of calls. The first page has the counts.",
})
export type ListCallsAnswer = typeof ListCallsAnswer.Type

const bulkActs = ["cancel", "star", "unstar", "addTag", "removeTag"] as const

const idsMessage = `must be an array of 1 to ${callLimits.bulkIds} ids`

const BulkIds = Schema.Array(ServiceCallId)
  .annotate({ message: idsMessage })
  .check(
    Schema.isBetweenLength(1, callLimits.bulkIds, {
      message: idsMessage,
      description: `The calls, by their ids: at most ${callLimits.bulkIds}. An id that no call of the tenant has is skipped.`,
    }),
    Schema.makeFilter(
      (ids: ReadonlyArray<string>) => {
        const twice = ids.findIndex((id, at) => ids.indexOf(id) < at)
        return twice < 0 ? undefined : { path: [twice], issue: "is given twice: remove one of them" }
      },
      { toJsonSchema: () => [{ uniqueItems: true }, true] },
    ),
  )

/** A person who names calls has seen them. A filter can match more than the person has seen. */
const belongToFilter = Schema.makeFilter(
  (body: Readonly<Record<string, unknown>>) => {
    if ("filter" in body)
      return "expectedCount" in body
        ? undefined
        : { path: ["expectedCount"], issue: "is required with filter" }
    const useless = ["expectedCount", "cursor"].find((name) => name in body)
    return useless === undefined ? undefined : { path: [useless], issue: "belongs to filter: remove it" }
  },
  {
    toJsonSchema: () => ({
      dependentRequired: { filter: ["expectedCount"], expectedCount: ["filter"], cursor: ["filter"] },
    }),
  },
)

export const ChangeManyCalls = Schema.Struct({
  do: Schema.Literals(bulkActs).annotate({
    message: `must be one of ${bulkActs.join(", ")}`,
    description: "What to do with each call.",
  }),
  tag: Schema.optionalKey(Tag.annotate({ description: "The tag to add or remove." })),
  filter: Schema.optionalKey(CallFilterFields),
  ids: Schema.optionalKey(BulkIds),
  expectedCount: Schema.optionalKey(
    Count.annotate({
      message: "must be a whole number",
      description:
        "Needed with filter: how many calls you expect to change, from the counts of a list with the same filter. If over 10 % more match now, nothing is changed.",
      examples: [12],
    }),
  ),
  cursor: Schema.optionalKey(CallCursor),
})
  .annotate({ message: "must be a JSON object" })
  .check(
    exactlyOneOf("filter", "ids"),
    belongToFilter,
    Schema.makeFilter(
      (body: { readonly do: string; readonly tag?: string }) => {
        const needsTag = body.do === "addTag" || body.do === "removeTag"
        if (needsTag === (body.tag !== undefined)) return undefined
        return {
          path: ["tag"],
          issue: needsTag ? `is required to ${body.do}` : `has no meaning with ${body.do}: remove it`,
        }
      },
      {
        toJsonSchema: () => ({
          if: { properties: { do: { enum: ["addTag", "removeTag"] } }, required: ["do"] },
          // biome-ignore lint/suspicious/noThenProperty: this is a keyword of JSON Schema.
          then: { required: ["tag"] },
          else: { not: { required: ["tag"] } },
        }),
      },
    ),
  )
  .annotate({ identifier: "ChangeManyCalls", description: "What to do, and with which calls." })
export type ChangeManyCalls = typeof ChangeManyCalls.Type

export const ChangeManyCallsAnswer = Schema.Struct({
  matched: Count.annotate({ description: "How many calls were looked at." }),
  changed: Count,
  skipped: Count.annotate({
    description: "Calls that are in a status in which this cannot be done, or that have 10 tags already.",
  }),
  missing: Schema.optionalKey(
    Count.annotate({ description: "With ids: how many of them no call of the tenant has." }),
  ),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({
      description: `Present if calls remain after the first ${callLimits.bulk}. Send the same request again, with this as cursor.`,
    }),
  ),
}).annotate({ identifier: "ChangeManyCallsAnswer" })
export type ChangeManyCallsAnswer = typeof ChangeManyCallsAnswer.Type
