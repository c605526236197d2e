// Finds the credentials of AWS where programs on AWS have them: in the store's URL, in the environment, in the
// credentials file, or behind a role. A role gives keys that expire: with a token file (EKS), from the container's agent
// (ECS, EKS Pod Identity) or from the metadata of the instance (EC2). Such keys are fetched again before they expire.
// If that fails, the old keys stay in use until they expire.
import { readFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { answerOf, jsonIn } from "./credentialRequests.ts"

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** Absent if they do not expire. */
  readonly expiresAtMs?: number
}

/** Why there are no credentials, in a sentence that says what to do. It never contains a key. */
export class NoCredentials extends Error {}

export interface CredentialPlaces {
  /** The keys that the URL contains. They come first. */
  readonly given?: AwsCredentials | undefined
  readonly region: string
  /** The environment of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly nowMs: () => number
}

/** Keys are fetched again this long before they expire. */
const refreshBeforeMs = 5 * 60_000

/** After a failed refresh, the next call tries again only after this time. */
const retryAfterMs = 10_000

export class CredentialSource {
  readonly #places: CredentialPlaces
  #found: AwsCredentials | undefined
  #fetching: Promise<AwsCredentials> | undefined
  #notBeforeMs = 0

  constructor(places: CredentialPlaces) {
    this.#places = places
  }

  async current(): Promise<AwsCredentials> {
    const now = this.#places.nowMs()
    const { expiresAtMs = Number.POSITIVE_INFINITY } = this.#found ?? {}
    if (this.#found !== undefined && (now < expiresAtMs - refreshBeforeMs || now < this.#notBeforeMs))
      return this.#found
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined
    })
    try {
      return await this.#fetching
    } catch (error) {
      if (this.#found === undefined || this.#places.nowMs() >= expiresAtMs) throw error
      this.#notBeforeMs = this.#places.nowMs() + retryAfterMs
      return this.#found
    }
  }

  async #fetch(): Promise<AwsCredentials> {
    for (const look of [fromUrl, fromEnvironment, fromTokenFile, fromProfile, fromContainer, fromInstance]) {
      const found = await look(this.#places)
      if (found === undefined) continue
      this.#found = found
      return found
    }
    throw new NoCredentials(
      "There are no AWS credentials: neither in the URL, nor in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor in a " +
        "credentials file, nor from a role of this container or instance. Give the machine a role, or set the two variables.",
    )
  }
}

type Lookup = (places: CredentialPlaces) => Promise<AwsCredentials | undefined>

const fromUrl: Lookup = async ({ given }) => given

const fromEnvironment: Lookup = async ({ environment }) => {
  const accessKeyId = environment["AWS_ACCESS_KEY_ID"]
  const secretAccessKey = environment["AWS_SECRET_ACCESS_KEY"]
  const sessionToken = environment["AWS_SESSION_TOKEN"]
  if (!accessKeyId || !secretAccessKey) return undefined
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
}

const fromTokenFile: Lookup = async ({ environment, region }) => {
  const file = environment["AWS_WEB_IDENTITY_TOKEN_FILE"]
  const role = environment["AWS_ROLE_ARN"]
  if (!file || !role) return undefined
  const body = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: environment["AWS_ROLE_SESSION_NAME"] || "punctual",
    WebIdentityToken: (await readFile(file, "utf8")).trim(),
  })
  const endpoint = environment["AWS_ENDPOINT_URL_STS"] || `https://sts.${region}.amazonaws.com`
  const text = await answerOf("the role of the token file (AWS_ROLE_ARN)", `${endpoint}/`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: body.toString(),
  })
  const part = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? ""
  return keysOf(
    "the role of the token file (AWS_ROLE_ARN)",
    part("AccessKeyId"),
    part("SecretAccessKey"),
    part("SessionToken"),
    part("Expiration"),
  )
}

/** Only keys in the file itself. Profiles that point to a role or to single sign-on are not followed. */
const fromProfile: Lookup = async ({ environment }) => {
  const file = environment["AWS_SHARED_CREDENTIALS_FILE"] || join(homedir(), ".aws", "credentials")
  const text = await readFile(file, "utf8").catch(() => undefined)
  const profile = environment["AWS_PROFILE"] || "default"
  const section = text?.split(/^\s*\[/m).find((part) => part.startsWith(`${profile}]`))
  const value = (name: string): string =>
    new RegExp(`^\\s*${name}\\s*=\\s*(\\S+)`, "m").exec(section ?? "")?.[1] ?? ""
  const [accessKeyId, secretAccessKey] = [value("aws_access_key_id"), value("aws_secret_access_key")]
  const sessionToken = value("aws_session_token")
  if (accessKeyId === "" || secretAccessKey === "") return undefined
  return { accessKeyId, secretAccessKey, ...(sessionToken === "" ? {} : { sessionToken }) }
}

const fromContainer: Lookup = async ({ environment }) => {
  const relative = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"]
  const url = relative ? `http://169.254.170.2${relative}` : environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
  if (!url) return undefined
  const file = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]
  const token = file
    ? (await readFile(file, "utf8")).trim()
    : environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
  const what = "the role of the container"
  return rolesKeys(what, await answerOf(what, url, { headers: token ? { authorization: token } : {} }))
}

const fromInstance: Lookup = async ({ environment }) => {
  if (environment["AWS_EC2_METADATA_DISABLED"] === "true") return undefined
  const base = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] || "http://169.254.169.254"
  const token = await answerOf("the metadata of the instance", `${base}/latest/api/token`, {
    method: "PUT",
    headers: { "x-aws-ec2-metadata-token-ttl-seconds": "21600" },
  }).catch(() => undefined)
  // Outside of EC2 nobody answers there.
  if (token === undefined) return undefined
  const what = "the role of the instance"
  const list = `${base}/latest/meta-data/iam/security-credentials/`
  const asked = { headers: { "x-aws-ec2-metadata-token": token } }
  const role = (await answerOf(what, list, asked)).split("\n")[0]?.trim() ?? ""
  return role === "" ? undefined : rolesKeys(what, await answerOf(what, `${list}${role}`, asked))
}

const rolesKeys = (what: string, text: string): AwsCredentials => {
  const part = jsonIn(text)
  return keysOf(what, part("AccessKeyId"), part("SecretAccessKey"), part("Token"), part("Expiration"))
}

const keysOf = (
  what: string,
  accessKeyId: string,
  secretAccessKey: string,
  sessionToken: string,
  expiration: string,
): AwsCredentials => {
  const expiresAtMs = Date.parse(expiration)
  if (accessKeyId === "" || secretAccessKey === "" || Number.isNaN(expiresAtMs))
    throw new NoCredentials(
      `The answer of ${what} has no AWS credentials: check the role and its trust policy.`,
    )
  return { accessKeyId, secretAccessKey, sessionToken, expiresAtMs }
}
