// A job on many timers as the store keeps it: what callers see of it, and where it continues.
import { bulkJobFields } from "@punctual/api/BulkJobs"
import { Result, Schema, SchemaParser } from "effect"

const BulkRecordShape = Schema.Struct({
  ...bulkJobFields,
  /** Fixed by the node that runs the job first. Timers that came later are left alone. */
  beginning: Schema.optionalKey(Schema.Struct({ atMs: Schema.Int, id: Schema.String })),
  /** Where the next step begins. */
  cursor: Schema.optionalKey(Schema.String),
})

export type BulkRecord = typeof BulkRecordShape.Type

const decode = SchemaParser.decodeUnknownResult(BulkRecordShape)

export const encodeBulkRecord: (record: BulkRecord) => unknown =
  SchemaParser.encodeUnknownSync(BulkRecordShape)

/** `undefined` if the stored value cannot be read. */
export const bulkRecordOf = (value: unknown): BulkRecord | undefined => {
  const decoded = decode(value)
  return Result.isSuccess(decoded) ? decoded.success : undefined
}

/** The namespaces, names and patterns, of a job. */
export const namespacesOfJob = ({ filter }: Pick<BulkRecord, "filter">): ReadonlyArray<string> =>
  filter.namespace === undefined ? (filter.namespaces ?? []) : [filter.namespace]
