/** Completes the OpenAPI document of the Service Agent with what its definition cannot express. */
import { actionField, finishedDocument } from "../openApiDocument.ts"
import { makeSitePaths } from "../sitePaths.ts"
import { callEventPaths } from "./callEventPaths.ts"
import { callAnswerExamples, exampleCall } from "./callExamples.ts"

type Json = Readonly<Record<string, unknown>>

const agentSitePaths = makeSitePaths({
  live: "Answers 503 if a loop of the agent has made no progress for a minute: restart the agent. Probe this path several times a minute.",
  liveReason: "The loop outbox has made no progress for 61 s.",
  ready:
    "Answers 503 while the agent drains, or while it cannot reach its store or the message broker: send it no calls.",
  readyReason: "The agent is draining: it is about to stop.",
  metrics:
    "All measurements in the text format of Prometheus. No label names a tenant or a call. If keys are in force, the key needs metrics.read, unless AGENT_METRICS is open.",
  metricsExample: `# HELP agent_http_connections Open connections of HTTP clients.
# TYPE agent_http_connections gauge
agent_http_connections 3
`,
})

const operations = { name: "Operations", description: "Health, metrics and the OpenAPI document." }

/** Service calls first. */
const tagsOf = (tags: ReadonlyArray<Json>): ReadonlyArray<Json> => [...tags, operations]

export const finishAgentDocument = (document: Record<string, unknown>): Record<string, unknown> => {
  const finished = finishedDocument(document, {
    answerExamples: callAnswerExamples,
    morePaths: { ...callEventPaths(actionField, exampleCall), ...agentSitePaths },
    moreSchemas: {},
    webhooks: {},
    tagsOf,
  })
  return withOperations(withCorrelation(finished))
}

const correlation = {
  type: "string",
  description: "The id of the request: the same as its header x-request-id.",
}

/** Every failure of the agent names its request. */
const withCorrelation = (document: Record<string, unknown>): Record<string, unknown> => {
  const components = document["components"] as Json
  const schemas = Object.entries(components["schemas"] as Json).map(([name, schema]) => {
    const { properties } = schema as Json
    return [
      name,
      name.endsWith("Problem")
        ? { ...(schema as Json), properties: { ...(properties as Json), correlationId: correlation } }
        : schema,
    ] as const
  })
  return { ...document, components: { ...components, schemas: Object.fromEntries(schemas) } }
}

const location = {
  location: {
    required: true,
    description: "The path of the new call.",
    schema: { type: "string", examples: ["/api/v1/tenants/billing/service-calls/invoice-4711"] },
  },
}

/** An answer 202 says where the new call is. */
const withLocation = (responses: Json): Json =>
  mapped(responses, (response, status) => (status === "202" ? { ...response, headers: location } : response))

/** The generator describes the schema of a parameter. Readers look at the parameter itself. */
const describedParameter = (parameter: Json): Json => {
  const schema = parameter["schema"] as Json
  const [first = {}] = (schema["allOf"] as ReadonlyArray<Json> | undefined) ?? []
  const { description, examples } = { ...first, ...schema }
  return {
    ...parameter,
    ...(description === undefined ? {} : { description }),
    ...(Array.isArray(examples) ? { example: examples[0] } : {}),
  }
}

const finishedOperation = (operation: Json): Json => ({
  ...operation,
  parameters: ((operation["parameters"] as ReadonlyArray<Json> | undefined) ?? []).map((parameter) =>
    parameter["description"] === undefined ? describedParameter(parameter) : parameter,
  ),
  responses: withLocation(operation["responses"] as Json),
})

const withOperations = (document: Record<string, unknown>): Record<string, unknown> => ({
  ...document,
  paths: mapped(document["paths"] as Json, (path) => mapped(path, finishedOperation)),
})

/** All values of the objects of a document are objects. */
const mapped = (value: Json, f: (inner: Json, key: string) => Json): Json =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, f(inner as Json, key)]))
