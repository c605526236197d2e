// The bodies of createMany that cost a careless service most: many small parts in few bytes, deep nesting, and valid
// timers that are as large as allowed. Each body is just below the limit of 16 MiB.

export const bodyKinds = [
  "unknownFields",
  "deepPayloads",
  "emptyObjects",
  "longLists",
  "largePayloads",
] as const
export type BodyKind = (typeof bodyKinds)[number]

export const bodyTitle: Readonly<Record<BodyKind, string>> = {
  unknownFields: "more than a million unknown fields",
  deepPayloads: "1,000 timers with deeply nested payloads",
  emptyObjects: "millions of empty objects",
  longLists: "1,000 timers with thousands of tags and waits",
  largePayloads: "1,000 valid timers with large payloads",
}

const items = 1_000

/** The text of the body has `bytes` bytes or slightly fewer. Only ASCII, so that characters are bytes. */
export const hostileBody = (kind: BodyKind, bytes: number): string => {
  switch (kind) {
    case "unknownFields":
      return `{${fill(bytes - 2, (index) => `"f${index}":1`)}}`
    case "emptyObjects":
      return `{"timers":[${fill(bytes - 13, () => "{}")}]}`
    case "deepPayloads":
      return timers(bytes, (room) => {
        const depth = Math.floor((room - ',"payload":'.length) / 2)
        return `,"payload":${"[".repeat(depth)}${"]".repeat(depth)}`
      })
    case "longLists":
      return timers(bytes, (room) => {
        const each = Math.floor((room - ',"tags":[],"retryPolicy":{"waits":[]}'.length) / 2)
        return `,"tags":[${fill(each, () => '"t"')}],"retryPolicy":{"waits":[${fill(each, () => '"1s"')}]}`
      })
    case "largePayloads":
      return timers(bytes, (room) => `,"payload":"${"x".repeat(room - ',"payload":""'.length)}"`)
  }
}

/** Timers without an id, so that the same body makes new timers each time. They are due tomorrow. */
const timers = (bytes: number, rest: (room: number) => string): string => {
  const first = '{"namespace":"attacker","delay":"24h","callbackUrl":"http://127.0.0.1:9/"'
  const each = Math.floor((bytes - '{"timers":[]}'.length) / items)
  const item = `${first}${rest(each - first.length - "},".length)}}`
  return `{"timers":[${Array.from({ length: items }, () => item).join(",")}]}`
}

/** As many parts as fit into `bytes`, with commas between them. */
const fill = (bytes: number, part: (index: number) => string): string => {
  const parts: Array<string> = []
  let used = -1
  for (let index = 0; ; index++) {
    const next = part(index)
    used += next.length + 1
    if (used > bytes) return parts.join(",")
    parts.push(next)
  }
}
