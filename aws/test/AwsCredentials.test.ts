// Where credentials are found. The services that give the keys of roles are played by a server that answers as AWS
// documents it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CredentialSource } from "../src/AwsCredentials.ts"

const expires = "2030-01-01T00:00:00Z"
const expiresAtMs = Date.parse(expires)
const keys = { accessKeyId: "A", secretAccessKey: "S", sessionToken: "T", expiresAtMs }
const asJson = JSON.stringify({ AccessKeyId: "A", SecretAccessKey: "S", Token: "T", Expiration: expires })
const asXml = `<R><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey>
  <SessionToken>T</SessionToken><Expiration>${expires}</Expiration></Credentials></R>`

describe("AWS credentials", () => {
  const folder = mkdtempSync(join(tmpdir(), "punctual-test-"))
  const file = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  let answer: (request: IncomingMessage) => string | undefined = () => undefined
  let requests = 0
  const aws = createServer((request, response) => {
    requests++
    request.resume()
    const text = answer(request)
    response.writeHead(text === undefined ? 403 : 200)
    response.end(text)
  })
  let url = ""
  beforeAll(async () => {
    await new Promise<void>((resolve) => aws.listen(0, "127.0.0.1", resolve))
    url = `http://127.0.0.1:${(aws.address() as AddressInfo).port}`
  })
  afterAll(() => {
    aws.close()
    rmSync(folder, { recursive: true, force: true })
  })

  let nowMs = 0
  const source = (environment: Record<string, string>, given?: typeof keys) =>
    new CredentialSource({
      region: "eu-central-1",
      environment: {
        AWS_EC2_METADATA_DISABLED: "true",
        AWS_SHARED_CREDENTIALS_FILE: join(folder, "none"),
        ...environment,
      },
      given,
      nowMs: () => nowMs,
    })

  test("keys in the URL come before those in the environment", async () => {
    const environment = { AWS_ACCESS_KEY_ID: "E", AWS_SECRET_ACCESS_KEY: "F", AWS_SESSION_TOKEN: "G" }
    expect(await source(environment, keys).current()).toEqual(keys)
    const found = await source(environment).current()
    expect(found).toEqual({ accessKeyId: "E", secretAccessKey: "F", sessionToken: "G" })
  })

  test("keys of a profile are read from the credentials file", async () => {
    const path = file(
      "credentials",
      "[default]\naws_access_key_id = D\naws_secret_access_key=E\n[two]\naws_access_key_id=X\naws_secret_access_key=Y\n",
    )
    const environment = { AWS_SHARED_CREDENTIALS_FILE: path }
    expect(await source(environment).current()).toEqual({ accessKeyId: "D", secretAccessKey: "E" })
    const two = await source({ ...environment, AWS_PROFILE: "two" }).current()
    expect(two).toEqual({ accessKeyId: "X", secretAccessKey: "Y" })
  })

  test("a role with a token file (EKS)", async () => {
    answer = ({ method }) => (method === "POST" ? asXml : undefined)
    const environment = {
      AWS_WEB_IDENTITY_TOKEN_FILE: file("token", "jwt"),
      AWS_ROLE_ARN: "arn:aws:iam::1:role/r",
      AWS_ENDPOINT_URL_STS: url,
    }
    expect(await source(environment).current()).toEqual(keys)
  })

  test("a role of a container (ECS, EKS Pod Identity)", async () => {
    answer = ({ headers }) => (headers.authorization === "secret token" ? asJson : undefined)
    const environment = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file("container", "secret token\n"),
    }
    expect(await source(environment).current()).toEqual(keys)
  })

  test("a role of an instance (EC2)", async () => {
    answer = ({ method, url: path, headers }) => {
      if (method === "PUT") return "session"
      if (headers["x-aws-ec2-metadata-token"] !== "session") return undefined
      return path?.endsWith("security-credentials/") ? "my-role" : asJson
    }
    const environment = { AWS_EC2_METADATA_DISABLED: "", AWS_EC2_METADATA_SERVICE_ENDPOINT: url }
    expect(await source(environment).current()).toEqual(keys)
  })

  test("keys that expire are fetched again before that, once for many callers, and kept if that fails", async () => {
    answer = () => asJson
    nowMs = expiresAtMs - 60 * 60_000
    const role = source({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url })
    requests = 0
    await Promise.all(Array.from({ length: 10 }, () => role.current()))
    expect(requests).toBe(1)
    await role.current()
    expect(requests).toBe(1)
    nowMs = expiresAtMs - 60_000
    answer = () => undefined
    expect(await role.current()).toEqual(keys)
    await role.current()
    expect(requests).toBe(2)
    nowMs = expiresAtMs + 1
    expect(role.current()).rejects.toThrow("refused with status 403")
  })

  test("without credentials the message says where they were looked for", () => {
    expect(source({}).current()).rejects.toThrow("AWS_ACCESS_KEY_ID")
  })
})
