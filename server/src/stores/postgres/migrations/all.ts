// Every migration, in order: entry n brings the schema from version n to n + 1. A released one is never
// edited; a change of the schema, or of a function, is a new file.
import timers from "./0001-timers.sql" with { type: "text" }
import writing from "./0002-writing.sql" with { type: "text" }
import orderOfCalls from "./0003-order-of-calls.sql" with { type: "text" }
import deadLetters from "./0004-dead-letters.sql" with { type: "text" }
import namespaces from "./0005-namespaces.sql" with { type: "text" }
import processes from "./0006-processes.sql" with { type: "text" }
import dueOrder from "./0007-due-order.sql" with { type: "text" }

export const migrations: ReadonlyArray<string> = [
  timers,
  writing,
  orderOfCalls,
  deadLetters,
  namespaces,
  processes,
  dueOrder,
]
