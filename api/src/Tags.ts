/** Short texts of the caller by which timers can be found. They follow the rules of ids but are shorter. */
import { Schema } from "effect"
import { idPattern, whyNotWord } from "./TimerId.ts"
import { visiblePattern, whyNotVisible } from "./whyNotVisible.ts"

const tagBytes = 64
export const mostTags = 10

const tagMessage = `must be text of 1 to ${tagBytes} bytes of UTF-8 without control characters`
const tagsMessage = `must be an array of 1 to ${mostTags} tags; leave it out for none`

/** A tag to search for. */
export const Tag = Schema.String.annotate({ message: tagMessage }).check(
  Schema.makeFilter((text: string) => whyNotWord(text, tagBytes, tagMessage), {
    toJsonSchema: () => [{ minLength: 1, maxLength: tagBytes, pattern: idPattern }, true],
    description: "One of the tags.",
    examples: ["trial"],
  }),
)

/** A tag of a new or changed timer. The rule is stricter than that of a filter, which must find stored tags. */
const NewTag = Schema.String.annotate({ message: tagMessage }).check(
  Schema.makeFilter((text: string) => whyNotWord(text, tagBytes, tagMessage) ?? whyNotVisible(text), {
    toJsonSchema: () => [{ minLength: 1, maxLength: tagBytes, pattern: visiblePattern }, true],
    description: "One of the tags.",
    examples: ["trial"],
  }),
)

/** Finds the second of two equal tags. Another check refuses too many tags, so they are not compared here. */
const repeated = Schema.makeFilter(
  (tags: ReadonlyArray<string>) => {
    if (tags.length > mostTags) return undefined
    const index = tags.findIndex((tag, at) => tags.indexOf(tag) < at)
    return index === -1 ? undefined : { path: [index], issue: "is given twice: remove one of them" }
  },
  { toJsonSchema: () => ({ uniqueItems: true }) },
)

const tagsOf = (least: 0 | 1, message: string, description: string) =>
  Schema.Array(NewTag)
    .annotate({ message })
    .check(Schema.isBetweenLength(least, mostTags, { message, description }), repeated)

const rule = `each with 1 to ${tagBytes} bytes of UTF-8 without control, invisible or formatting characters, and not only spaces.`

export const Tags = tagsOf(1, tagsMessage, `Tags to find the timer by: 1 to ${mostTags}, ${rule}`)

export type Tags = typeof Tags.Type

/** Tags that replace others. An empty array removes all. */
export const TagsOrNone = tagsOf(
  0,
  `must be an array of 0 to ${mostTags} tags`,
  `The new tags: 0 to ${mostTags}, ${rule} An empty array removes all tags.`,
)
