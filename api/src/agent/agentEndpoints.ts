/**
 * The endpoints of the Service Agent's contract as a list, for its server. Each has the terms of its definition and the
 * functions that its schemas compile to.
 */
import { Context, type Result, type Schema, SchemaAST, type SchemaIssue, SchemaParser } from "effect"
import { HttpApi } from "effect/http-api"
import { CallTerms } from "../CallTerms.ts"
import { requestParseOptions } from "../requestParseOptions.ts"
import { shortenArrays } from "../shortenArrays.ts"
import { AgentApi } from "./AgentApi.ts"

type Decode = (input: unknown) => Result.Result<unknown, SchemaIssue.Issue>

export interface AgentEndpoint extends Omit<CallTerms["Service"], "bodyLimit"> {
  readonly group: string
  readonly name: string
  readonly method: string
  /** With parameters such as `:tenantId`. */
  readonly path: string
  readonly status: number
  /** Each is absent if the endpoint has no such part. */
  readonly decodeParams?: Decode
  readonly decodeQuery?: Decode
  readonly decodeBody?: Decode
  /** Decodes the headers that `headerNames` names. */
  readonly decodeHeaders?: Decode
  readonly headerNames: ReadonlyArray<string>
  /** Encodes an answer to a value for `JSON.stringify`. Throws if the answer violates the contract. */
  readonly encode: (answer: unknown) => unknown
}

export const agentEndpoints = (): ReadonlyArray<AgentEndpoint> => {
  const endpoints: Array<AgentEndpoint> = []
  HttpApi.reflect(AgentApi, {
    onGroup: () => undefined,
    onEndpoint: ({ group, endpoint, mergedAnnotations }) => {
      const terms = Context.getOrUndefined(mergedAnnotations, CallTerms)
      const body = endpoint.payload.get("application/json")?.schemas[0]
      const [answer] = endpoint.success
      const name = `${group.identifier}.${endpoint.identifier}`
      if (terms === undefined) throw new Error(`the endpoint ${name} does not declare its terms`)
      if (answer === undefined) throw new Error(`the endpoint ${name} has no answer`)
      endpoints.push({
        ...terms,
        group: group.identifier,
        name: endpoint.identifier,
        method: endpoint.method,
        path: endpoint.path.replace(/\/$/, ""),
        status: name === "serviceCalls.submit" || name === "serviceCalls.runAgain" ? 202 : 200,
        ...(endpoint.params === undefined ? {} : { decodeParams: decoderOf(endpoint.params) }),
        ...(endpoint.query === undefined ? {} : { decodeQuery: decoderOf(endpoint.query) }),
        ...(body === undefined ? {} : { decodeBody: bodyDecoderOf(body) }),
        ...(endpoint.headers === undefined ? {} : { decodeHeaders: decoderOf(endpoint.headers) }),
        headerNames: endpoint.headers === undefined ? [] : headerNamesOf(endpoint.headers),
        encode: SchemaParser.encodeUnknownSync(answer as typeof answer & Pure),
      })
    },
  })
  return endpoints
}

const headerNamesOf = (headers: Schema.Top): ReadonlyArray<string> => {
  const ast = SchemaAST.toEncoded(headers.ast)
  return SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []
}

const decoderOf = (schema: Schema.Top): Decode =>
  SchemaParser.decodeUnknownResult(schema as Schema.Top & Pure, requestParseOptions)

/** Shortens arrays of the input that are too long. So the input must not be used by others. */
const bodyDecoderOf = (body: Schema.Top): Decode => {
  const shorten = shortenArrays(body)
  const decode = decoderOf(body)
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
