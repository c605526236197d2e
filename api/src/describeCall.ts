/** What every endpoint of the contract says of itself, in the form that the definition takes. */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"
import { CallTerms } from "./CallTerms.ts"
import { finishOperation } from "./openApiDocument.ts"

/** All that an endpoint says of itself. Its terms come first: an endpoint without an action does not compile. */
export const describeCall = (
  terms: CallTerms["Service"],
  summary: string,
  example: Readonly<Record<string, unknown>>,
  description: string,
) =>
  Context.add(
    OpenApi.annotations({ summary, description, transform: finishOperation(example) }),
    CallTerms,
    terms,
  )
