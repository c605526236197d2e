// What a command says if the URL and the service do not agree about TLS, or if the certificate is not trusted.
import { afterAll, afterEach, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { ServerCertificate } from "@punctual/http/listener/TcpServer"
import { withListener } from "../../../../http/test/listener/listenerSuite.ts"
import { makeCertificates } from "../../../testkit/Certificates.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { run } from "../CommandFixture.ts"

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const { caFile, certFile, keyFile } = makeCertificates(folder.path, "DNS:timers.example.com")

const certificateIn = (cert: string, key: string): ServerCertificate => ({
  cert: readFileSync(cert, "utf8"),
  key: readFileSync(key, "utf8"),
})
const ofAuthority = certificateIn(certFile, keyFile)
const selfSigned = certificateIn(caFile, join(folder.path, "ca.key"))

afterEach(() => {
  delete process.env["TIMER_TLS_CA_FILE"]
})

/** The words after the code in brackets. */
const adviceOf = async (
  scheme: "http" | "https",
  certificate: ServerCertificate | undefined,
): Promise<string | undefined> => {
  let err = ""
  const handle = () => ({ status: 200, headers: {}, body: "answer" })
  await withListener({ handle, ...(certificate && { certificate }) }, async ({ port }) => {
    const ended = await run(["status"], { environmentUrl: `${scheme}://127.0.0.1:${port}` })
    expect([ended.exitCode, ended.out]).toEqual([1, ""])
    err = ended.err
  })
  return /unreachable \(\w+\)\. (.*)\n/.exec(err)?.[1]
}

test("a command that speaks http to a port with TLS names https, and the other way round", async () => {
  expect(await adviceOf("http", ofAuthority)).toBe(
    "If it serves https, the URL must begin with https:// (set TIMER_URL or --url).",
  )
  expect(await adviceOf("https", undefined)).toBe(
    "If it serves plain http, the URL must begin with http:// (set TIMER_URL or --url).",
  )
})

test("a command that does not trust a certificate says which file to set", async () => {
  expect(await adviceOf("https", ofAuthority)).toBe(
    "If your own authority signed its certificate, set TIMER_TLS_CA_FILE to the file of the authority.",
  )
  expect(await adviceOf("https", selfSigned)).toBe(
    "Its certificate is self-signed: if it is yours, set TIMER_TLS_CA_FILE to the file of the certificate.",
  )
})

test("a command that trusts a certificate for another name says that the name is wrong", async () => {
  process.env["TIMER_TLS_CA_FILE"] = caFile
  expect(await adviceOf("https", ofAuthority)).toStartWith("Its certificate is for other names: call it by")
})

test("a command that reaches nobody asks whether the service runs", async () => {
  const { err } = await run(["status"], { environmentUrl: "http://127.0.0.1:1" })
  expect(err).toEndWith(
    "Is it running? Start it with npm start or punctual serve. If it listens elsewhere, set TIMER_URL or --url.\n",
  )
})
