/** The caller's own words to find timers by. They follow the rules of ids, are shorter, and a timer has few of them. */
import { Schema } from "effect"
import { idPattern, whyNotWord } from "./TimerId.ts"

const tagBytes = 64
const mostTags = 10

const tagMessage = `must be text of 1 to ${tagBytes} bytes of UTF-8 without control characters`
const tagsMessage = `must be an array of 1 to ${mostTags} tags; leave it out for none`

export const Tag = Schema.String.annotate({ message: tagMessage }).check(
  Schema.makeFilter((text: string) => whyNotWord(text, tagBytes, tagMessage), {
    toJsonSchema: () => [{ minLength: 1, maxLength: tagBytes, pattern: idPattern }, true],
    description: "One of the timer's tags.",
    examples: ["trial"],
  }),
)

/** Where the second of two equal tags stands. Too many tags are refused before this, and are not compared. */
const repeated = Schema.makeFilter((tags: ReadonlyArray<string>) => {
  if (tags.length > mostTags) return undefined
  const index = tags.findIndex((tag, at) => tags.indexOf(tag) < at)
  return index === -1 ? undefined : { path: [index], issue: "is given twice: remove one of them" }
})

export const Tags = Schema.Array(Tag)
  .annotate({ message: tagsMessage })
  .check(
    Schema.isBetweenLength(1, mostTags, {
      message: tagsMessage,
      description: `Words to find the timer by: 1 to ${mostTags}, each of 1 to ${tagBytes} bytes of UTF-8 without control characters.`,
    }),
    repeated,
  )

export type Tags = typeof Tags.Type
