/** The annotations that every endpoint of the contract has. */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"
import { CallTerms } from "./CallTerms.ts"
import { finishOperation } from "./openApiDocument.ts"

/** All annotations of an endpoint. An endpoint without terms does not compile. */
export const describeCall = (
  terms: CallTerms["Service"],
  summary: string,
  /** The body of a request. A call without a body has none. */
  example: Readonly<Record<string, unknown>> | undefined,
  description: string,
) =>
  Context.add(
    OpenApi.annotations({ summary, description, transform: finishOperation(example, terms) }),
    CallTerms,
    terms,
  )
