// The signature, by the published examples of AWS's test suite for Signature Version 4.
import { expect, test } from "bun:test"
import { signedHeaders } from "../src/signedHeaders.ts"

const credentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
}
const scope = { region: "us-east-1", service: "service" }
const nowMs = Date.parse("2015-08-30T12:36:00Z")

const examples = [
  ["GET", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
  ["POST", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
] as const

for (const [method, signature] of examples) {
  test(`a plain ${method} has the signature of the example`, () => {
    const request = { method, host: "example.amazonaws.com", path: "/", headers: {}, body: "" }
    expect(signedHeaders(request, scope, credentials, nowMs)).toEqual({
      "x-amz-date": "20150830T123600Z",
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    })
  })
}

test("a session's token is sent and signed, and another secret gives another signature", () => {
  const request = { method: "POST", host: "h", path: "/", headers: {}, body: "{}" } as const
  const signed = signedHeaders(request, scope, { ...credentials, sessionToken: "token" }, nowMs)
  expect(signed["x-amz-security-token"]).toBe("token")
  expect(signed["authorization"]).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token")
  const other = signedHeaders(
    request,
    scope,
    { ...credentials, secretAccessKey: "x", sessionToken: "token" },
    nowMs,
  )
  expect(other["authorization"]).not.toBe(signed["authorization"])
})
