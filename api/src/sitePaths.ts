/**
 * The paths beside the API, for the OpenAPI document: health, metrics and the document itself. Probes and scrapers read
 * them with GET. They also answer while the service waits for its store or drains.
 */
type Json = Readonly<Record<string, unknown>>

const healthSchema = (status: string, otherwise: string): Json => ({
  type: "object",
  properties: {
    status: { type: "string", enum: [status, otherwise] },
    reasons: {
      type: "array",
      items: { type: "string" },
      description: `One sentence for each reason. Present when the status is ${otherwise}. If keys are in force, only callers with service.read see it.`,
    },
  },
  required: ["status"],
})

const health = (path: Json, status: string, otherwise: string, reason: string): Json => {
  const answer = (description: string, example: Json) => ({
    description,
    content: { "application/json": { schema: healthSchema(status, otherwise), example } },
  })
  return {
    get: {
      ...path,
      tags: ["Operations"],
      parameters: [],
      responses: {
        "200": answer(`The service is ${status}.`, { status }),
        "405": methodNotAllowed,
        "503": answer(`The service is not ${status}; the reasons say why.`, {
          status: otherwise,
          reasons: [reason],
        }),
      },
    },
  }
}

const methodNotAllowed = {
  description: "The path accepts only GET and HEAD",
  headers: {
    allow: { required: true, description: "The methods that the path accepts.", schema: { type: "string" } },
  },
  content: {
    "application/problem+json": {
      schema: { $ref: "#/components/schemas/MethodNotAllowedProblem" },
      examples: { methodNotAllowed: { $ref: "#/components/examples/methodNotAllowed" } },
    },
  },
}

const refusal = (description: string, code: string, schema: string): Json => ({
  description,
  content: {
    "application/problem+json": {
      schema: { $ref: `#/components/schemas/${schema}` },
      examples: { [code]: { $ref: `#/components/examples/${code}` } },
    },
  },
})

/** What the paths beside an API say about themselves. */
export interface SiteTexts {
  readonly live: string
  readonly liveReason: string
  readonly ready: string
  readonly readyReason: string
  readonly metrics: string
  readonly metricsExample: string
}

export const makeSitePaths = (texts: SiteTexts): Json => ({
  "/health/live": health(
    { operationId: "operations.live", summary: "Liveness", description: texts.live },
    "live",
    "stalled",
    texts.liveReason,
  ),
  "/health/ready": health(
    { operationId: "operations.ready", summary: "Readiness", description: texts.ready },
    "ready",
    "notReady",
    texts.readyReason,
  ),
  "/metrics": {
    get: {
      tags: ["Operations"],
      operationId: "operations.metrics",
      summary: "Metrics",
      description: texts.metrics,
      parameters: [],
      responses: {
        "200": {
          description: "The measurements.",
          content: { "text/plain": { schema: { type: "string" }, example: texts.metricsExample } },
        },
        "401": refusal("The key is missing or not valid", "unauthorized", "UnauthorizedProblem"),
        "403": refusal("The key does not have the right", "forbidden", "ForbiddenProblem"),
        "405": methodNotAllowed,
      },
    },
  },
  "/openapi.json": {
    get: {
      tags: ["Operations"],
      operationId: "operations.openApi",
      summary: "This document",
      description: "The contract as an OpenAPI 3.1 document, with the limits of this service.",
      parameters: [],
      responses: {
        "200": {
          description: "The OpenAPI document.",
          content: { "application/json": { schema: { type: "object" } } },
        },
        "405": methodNotAllowed,
      },
    },
  },
})

export const sitePaths: Json = makeSitePaths({
  live: "Answers 503 if a timer loop has made no progress for a minute: restart the service. Probe this path several times a minute.",
  liveReason: "The loop firing stays stalled: restart the service.",
  ready:
    "Answers 503 while the service drains, waits to own its shards, or has a timer loop that makes no progress: send it no calls.",
  readyReason: "The service is draining: it is about to stop.",
  metrics:
    "All measurements in the text format of Prometheus. No label names a namespace or a timer. If keys are in force, the key needs metrics.read, unless TIMER_METRICS is open.",
  metricsExample: `# HELP timer_pending Timers that are pending.
# TYPE timer_pending gauge
timer_pending 1284
`,
})

/** Groups of the document that the definition of the API does not have. */
const siteTags: ReadonlyArray<Json> = [
  { name: "Events", description: "What happens to timers, as it happens." },
  { name: "Webhooks", description: "What the service sends to your endpoint, and what the answer means." },
  { name: "Operations", description: "Health, metrics and the OpenAPI document." },
]

/** The order of the groups for readers. A group that is not named here comes before the last one. */
const order = [
  "Timers",
  "Bulk",
  "Events",
  "Webhooks",
  "Namespaces",
  "Keys",
  "Sessions",
  "Clock",
  "Service",
  "Breakers",
  "Messages",
  "Cluster",
]

export const orderedTags = (tags: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const rankOf = ({ name }: Json): number => {
    if (name === "Operations") return order.length + 1
    const index = order.indexOf(String(name))
    return index < 0 ? order.length : index
  }
  return [...tags, ...siteTags].sort((one, other) => rankOf(one) - rankOf(other))
}
