// The functions of functions.sql, under names that end with the hash of their text. A program creates its own functions
// when it opens the store. So a change of the file needs no migration, and nodes of two releases can run side by side,
// because each calls its own functions.
import { createHash } from "node:crypto"
import { addedFields, type TimerField } from "../../domain/timerFields.ts"
import template from "./functions.sql" with { type: "text" }

const fields: ReadonlyArray<TimerField> = addedFields

/** The file, with the parts for added fields repeated for each field. */
const text = template.replaceAll(/«([^»]*)»/g, (_, part: string) =>
  fields
    .map(({ column, kind }) =>
      part.replaceAll("##", kind === "number" ? "bigint" : "text").replaceAll("#", column),
    )
    .join(""),
)

const hash = createHash("sha256").update(text).digest("hex").slice(0, 12)

/** Functions that no program has used for this long are removed. A node notes every day that it still uses its own. */
const keptDays = 30

/**
 * Notes that this program uses its functions. It writes at most once a day, so that a node can call it with every beat.
 */
export const noteUseSql = `UPDATE functions SET used_at = now()
  WHERE hash = '${hash}' AND used_at < now() - interval '1 day'`

export const functionNamed = (name: "commit_changes" | "insert_new" | "claim_shard"): string =>
  `${name}_${hash}`

/** Runs in the caller's transaction, with the store's schema first on the search path. */
export const createFunctions = async (sql: Bun.SQL): Promise<void> => {
  const opened: ReadonlyArray<unknown> = await sql.unsafe(
    "UPDATE functions SET used_at = now() WHERE hash = $1::text RETURNING hash",
    [hash],
  )
  if (opened.length > 0) return
  await sql.unsafe(text.replaceAll("__HASH__", hash)).simple()
  await sql.unsafe("INSERT INTO functions (hash) VALUES ($1::text)", [hash])
  const old: ReadonlyArray<{ hash: string }> = await sql.unsafe(
    "SELECT hash FROM functions WHERE used_at < now() - make_interval(days => $1::integer)",
    [keptDays],
  )
  for (const { hash: gone } of old) {
    // Dropping a type also drops the functions that use it.
    await sql.unsafe(`DROP FUNCTION IF EXISTS commit_changes_${gone}, claim_shard_${gone}`).simple()
    await sql.unsafe(`DROP TYPE IF EXISTS change_${gone} CASCADE`).simple()
    await sql.unsafe(`DROP TYPE IF EXISTS word_${gone} CASCADE`).simple()
    await sql.unsafe(`DROP FUNCTION IF EXISTS change_others_${gone}, insert_new_${gone}`).simple()
    await sql.unsafe("DELETE FROM functions WHERE hash = $1::text", [gone])
  }
}
