// The URL of a store on DynamoDB: dynamodb://region/prefix. Credentials can be in it, but a role or the environment is
// better. `endpoint` is for DynamoDB Local and for private endpoints.
import type { AwsCredentials } from "./AwsCredentials.ts"

export interface DynamoPlace {
  readonly region: string
  /** The names of the tables begin with it. */
  readonly prefix: string
  readonly endpoint: string
  readonly credentials?: AwsCredentials
}

export const dynamoForm = "dynamodb://<region>/<prefix>"

const regionPattern = /^[a-z]{2,4}(?:-[a-z]+)+-\d+$/
/** DynamoDB allows 255 characters, and the names of the tables add a few. */
const prefixPattern = /^[A-Za-z0-9_.-]{1,200}$/

export const parseDynamoUrl = (
  given: string,
): { readonly value: DynamoPlace } | { readonly problem: string } => {
  const url = URL.parse(given)
  if (url === null) return { problem: `must be ${dynamoForm}` }
  if (!regionPattern.test(url.hostname) || url.port !== "")
    return { problem: `must name a region of AWS, such as dynamodb://eu-central-1/punctual` }
  const prefix = decoded(url.pathname.slice(1)) || "punctual"
  if (!prefixPattern.test(prefix))
    return { problem: "must name a prefix of tables: 1 to 200 characters of A-Z, a-z, 0-9, _, . and -" }
  const unknown = [...url.searchParams.keys()].find((name) => name !== "endpoint")
  if (unknown !== undefined) return { problem: "has an unknown parameter: only endpoint is known" }
  const endpoint = url.searchParams.get("endpoint") ?? endpointOf(url.hostname)
  if (!/^https?:\/\/[^/?#@]+\/?$/.test(endpoint))
    return { problem: "has an endpoint that is not a URL such as http://127.0.0.1:8000" }
  if ((url.username === "") !== (url.password === ""))
    return { problem: "has only one of access key and secret key: give both or none" }
  const credentials =
    url.username === ""
      ? undefined
      : { accessKeyId: decoded(url.username), secretAccessKey: decoded(url.password) }
  return {
    value: { region: url.hostname, prefix, endpoint, ...(credentials === undefined ? {} : { credentials }) },
  }
}

/** A text that cannot be decoded stays as it is. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const endpointOf = (region: string): string =>
  `https://dynamodb.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`

/** The URL without credentials. */
export const dynamoUrlShown = (given: string): string => {
  const url = URL.parse(given)
  if (url === null || !regionPattern.test(url.hostname)) return "dynamodb://…"
  const endpoint = url.searchParams.get("endpoint")
  const shown = endpoint === null ? "" : `?endpoint=${endpoint.replace(/\/\/.*@/, "//")}`
  return `dynamodb://${url.host}${url.pathname}${shown}`
}
