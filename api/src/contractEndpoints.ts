/**
 * The endpoints of the contract as a list, for servers of the contract: over HTTP or inside a program. Each endpoint
 * has the terms of its definition and the functions that its schemas compile to.
 */
import { Context, type Result, type Schema, type SchemaIssue, SchemaParser } from "effect"
import { HttpApi } from "effect/http-api"
import { CallTerms } from "./CallTerms.ts"
import { makePunctualApi } from "./PunctualApi.ts"
import { perLimits } from "./perLimits.ts"
import { requestParseOptions } from "./requestParseOptions.ts"
import { shortenArrays } from "./shortenArrays.ts"

type Terms = CallTerms["Service"]

export interface ContractEndpoint extends Omit<Terms, "bodyLimit"> {
  /** The group and the name of the call in the definition. */
  readonly group: string
  readonly name: string
  readonly path: string
  readonly bodyLimit: "bodyBytes" | "createManyBodyBytes"
  readonly maxBodyBytes: number
  /** Checks and decodes the parsed JSON of a body. */
  readonly decode: (input: unknown) => Result.Result<unknown, SchemaIssue.Issue>
  /** Encodes an answer to a value for `JSON.stringify`. Throws if the answer violates the contract. */
  readonly encode: (answer: unknown) => unknown
}

export const contractEndpoints = perLimits((limits): ReadonlyArray<ContractEndpoint> => {
  const endpoints: Array<ContractEndpoint> = []
  HttpApi.reflect(makePunctualApi(limits), {
    onGroup: () => undefined,
    onEndpoint: ({ group, endpoint, mergedAnnotations }) => {
      const terms = Context.getOrUndefined(mergedAnnotations, CallTerms)
      const body = endpoint.payload.get("application/json")?.schemas[0]
      const [answer] = endpoint.success
      const name = `${group.identifier}.${endpoint.identifier}`
      if (terms === undefined) throw new Error(`the endpoint ${name} does not declare its terms`)
      if (body === undefined || answer === undefined) {
        throw new Error(`the endpoint ${name} has no JSON body or no answer`)
      }
      const { bodyLimit = "bodyBytes" } = terms
      endpoints.push({
        ...terms,
        bodyLimit,
        maxBodyBytes: limits[bodyLimit],
        group: group.identifier,
        name: endpoint.identifier,
        path: endpoint.path,
        decode: decoderOf(body as typeof body & Pure),
        encode: SchemaParser.encodeUnknownSync(answer as typeof answer & Pure),
      })
    },
  })
  return endpoints
})

/** Shortens arrays of the input that are too long. So the input must not be used by others. */
const decoderOf = (body: Schema.Top & Pure): ContractEndpoint["decode"] => {
  const shorten = shortenArrays(body)
  const decode = SchemaParser.decodeUnknownResult(body, requestParseOptions)
  return (input) => {
    shorten(input)
    return decode(input)
  }
}

/** The schemas of the contract need no services to decode and encode. */
interface Pure {
  readonly DecodingServices: never
  readonly EncodingServices: never
}
