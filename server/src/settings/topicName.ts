// The rule for the name of a topic of Kafka.
import type { Parsed } from "../ports/Adapter.ts"

/** Other names are made of it, with a tenant or a group, so it is shorter than a topic's name may be. */
export const topicName = (name: string): Parsed<string> =>
  /^[A-Za-z0-9_-](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?$/.test(name)
    ? { value: name }
    : { problem: "must be 1 to 100 of A-Z, a-z, 0-9, _, - and ., without a dot at either end" }
