// The row of the pending timer of a key, as the writer and as a reader find it.
import type { Statement } from "bun:sqlite"
import type { PendingIds } from "../Lookup.ts"
import { pendingIdSql, storedIdSql } from "../statements.ts"
import type { ReaderOrders } from "./ReaderOrders.ts"
import type { WriterOrders } from "./WriterOrders.ts"

export const idsOfWriter = (orders: WriterOrders): PendingIds => {
  const stored = orders.database.prepare(storedIdSql)
  return {
    idOf: (key) => {
      const moved = orders.movedIdOf(key)
      if (moved !== undefined) return moved ?? undefined
      return orders.runs.idOf(key) ?? idIn(stored.get(key.namespace, key.timerId))
    },
  }
}

export const idsOfReader = (orders: ReaderOrders): PendingIds => {
  const statements = new Map<string, Statement>()
  const statementOf = (): Statement => {
    const { shown } = orders
    const name = `${shown.layers.join()} ${shown.runs}`
    const known = statements.get(name)
    if (known !== undefined) return known
    const statement = orders.database.prepare(pendingIdSql(shown))
    statements.set(name, statement)
    return statement
  }
  return { idOf: (key) => idIn(statementOf().get(key.namespace, key.timerId)) }
}

const idIn = (row: unknown): number | undefined => (row as { readonly id: number } | null)?.id
