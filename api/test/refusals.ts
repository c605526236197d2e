/** What a caller is told about a body. Most tests of the contract ask this. */
import { Result, Schema } from "effect"
import { fieldErrors } from "../src/invalidRequest.ts"
import { requestParseOptions } from "../src/requestParseOptions.ts"

/** The refusals as `pointer detail`; none if the body is accepted. */
export const refusalsOf = (schema: Schema.Codec<unknown, unknown>, body: unknown): ReadonlyArray<string> => {
  const result = Schema.decodeUnknownResult(schema, requestParseOptions)(body)
  return Result.isSuccess(result)
    ? []
    : fieldErrors(result.failure.issue).map(({ pointer, detail }) => `${pointer} ${detail}`)
}

/** The decoded body. A refusal fails the test with its text. */
export const decoded = <T>(schema: Schema.Codec<T, unknown>, body: unknown): T =>
  Schema.decodeUnknownSync(schema, requestParseOptions)(body)
