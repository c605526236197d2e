/** What is wrong with a message that cannot be decoded, as one short sentence for logs and undeliverable messages. */
import type { SchemaIssue } from "effect"
import { fieldErrors } from "./invalidRequest.ts"

export const malformedMessage = (issue: SchemaIssue.Issue): string =>
  fieldErrors(issue)
    .slice(0, 3)
    .map(({ pointer, detail }) => `${pointer === "" ? "the message" : pointer} ${detail}`)
    .join("; ")
