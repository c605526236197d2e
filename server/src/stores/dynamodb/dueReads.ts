// Reads due timers along the index `due` of a shard, or along `ns_due` for one namespace. A page is filled from as many
// pages of DynamoDB as it takes. The keys of the index contain all of a head, so reads of heads touch no timer.
import type { DynamoExpression } from "@punctual/aws/DynamoExpression"
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import { afterTime, beyond, timeOfText, timeText } from "@punctual/aws/sortableTime"
import type { Timer, TimerHead } from "../../domain/Timer.ts"
import type { DuePage, DueQuery } from "../../ports/TimerStore.ts"
import { duePageOf } from "../duePage.ts"
import type { Database } from "./Database.ts"
import { dueText, keyOfText, prefixOf } from "./keys.ts"
import { pendingAttributes, timerOf } from "./rows.ts"

/** More names than this are left out here instead of in DynamoDB, whose expressions are limited. */
const mostFiltered = 50

const timerAttributes = ["id", ...pendingAttributes]

export const readDue = (database: Database, query: DueQuery): Promise<DuePage> =>
  duePageOf(dueTimers(database, query), query.limit)

async function* dueTimers(database: Database, query: DueQuery): AsyncGenerator<Timer> {
  for await (const item of dueItems(database, query, timerAttributes)) {
    const timer = timerOf(item)
    if (timer !== undefined) yield timer
  }
}

export const readHeads = async (database: Database, query: DueQuery): Promise<ReadonlyArray<TimerHead>> => {
  const heads: Array<TimerHead> = []
  if (query.limit <= 0) return heads
  // Other attributes are not in the index: DynamoDB would read each timer as well.
  for await (const item of dueItems(database, query, ["id", query.only === undefined ? "due" : "ns_due"])) {
    const due = String(item["due"] ?? String(item["ns_due"]).slice(prefixOf(query.only ?? "").length))
    heads.push({ ...keyOfText(String(item["id"])), fireId: afterTime(due), fireAt: timeOfText(due) })
    if (heads.length === query.limit) break
  }
  return heads
}

async function* dueItems(
  { tables, names }: Database,
  query: DueQuery,
  attributes: ReadonlyArray<string>,
): AsyncGenerator<DynamoItem> {
  const { shard, exclusiveAfter, inclusiveUntilMs, limit, only, except = [] } = query
  const prefix = only === undefined ? "" : prefixOf(only)
  const index = only === undefined ? "due" : "ns_due"
  const after = `${prefix}${dueText(exclusiveAfter)}`
  const excluded = new Set(except)
  const filtered = except.slice(0, mostFiltered)
  const range = [index, after, `${prefix}${timeText(inclusiveUntilMs)}${beyond}`] as const
  const pages = tables.pages(
    {
      table: names.timers,
      index,
      partition: ["shard", shard],
      range,
      attributes,
      ...(filtered.length === 0 ? {} : { filter: (expression) => notIn(expression, filtered) }),
    },
    // One row more shows whether the page is the last one, and the cursor's own row may be among them.
    limit + 2,
  )
  for await (const { items } of pages) {
    for (const item of items) {
      if (item[index] === after) continue
      if (excluded.size > 0 && excluded.has(keyOfText(String(item["id"])).namespace)) continue
      yield item
    }
  }
}

const notIn = (expression: DynamoExpression, namespaces: ReadonlyArray<string>): string => {
  const id = expression.name("id")
  const each = namespaces.map((name) => `begins_with(${id}, ${expression.value(prefixOf(name))})`)
  return `NOT (${each.join(" OR ")})`
}
