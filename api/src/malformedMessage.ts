/** What is wrong with a message that cannot be decoded, as one short sentence for logs and undeliverable messages. */
import type { SchemaIssue } from "effect"
import { fieldErrors } from "./invalidRequest.ts"

/** `at` is the pointer to the decoded part. */
export const malformedMessage = (issue: SchemaIssue.Issue, at = ""): string =>
  fieldErrors(issue, at, 3)
    .map(({ pointer, detail }) => `${pointer === "" ? "the message" : pointer} ${detail}`)
    .join("; ")
