// The files of a broker over TLS: an authority, and the certificate of this client with its key.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { allBuses } from "../../src/buses/all.ts"
import { type Environment, readConfiguration } from "../../src/settings/Configuration.ts"
import { allStores } from "../../src/stores/all.ts"
import { type Certificates, makeCertificates } from "../../testkit/Certificates.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const read = (environment: Environment) =>
  readConfiguration(environment, { stores: allStores, buses: allBuses })

const problemsOf = (environment: Environment): ReadonlyArray<string> => {
  const configuration = read(environment)
  return "problems" in configuration ? configuration.problems : []
}

describe("the certificate of this client", () => {
  const folder = new TemporaryFolder()
  let files: Certificates
  beforeAll(() => {
    files = makeCertificates(folder.path)
  })
  afterAll(() => folder[Symbol.dispose]())

  const pair = () => ({ TIMER_BROKER_CERT_FILE: files.certFile, TIMER_BROKER_KEY_FILE: files.keyFile })

  test("reaches the broker's terms together with its key", () => {
    const configuration = read({ TIMER_BROKER_URL: "tls://h", ...pair() })
    expect(configuration).toMatchObject({
      configuration: { brokerTerms: { certFile: files.certFile, keyFile: files.keyFile } },
    })
  })

  test("needs its key, and the key needs its certificate", () => {
    for (const name of ["TIMER_BROKER_CERT_FILE", "TIMER_BROKER_KEY_FILE"] as const) {
      expect(problemsOf({ TIMER_BROKER_URL: "tls://h", [name]: pair()[name] })).toEqual([
        "TIMER_BROKER_CERT_FILE and TIMER_BROKER_KEY_FILE belong together: set both, or none.",
      ])
    }
    expect(
      problemsOf({ TIMER_BROKER_URL: "tls://h", ...pair(), TIMER_BROKER_CERT_FILE: files.caFile }),
    ).toEqual([
      "TIMER_BROKER_KEY_FILE must name the key that belongs to the certificate in TIMER_BROKER_CERT_FILE.",
    ])
  })

  test("and its key are what their names say", () => {
    const swapped = { TIMER_BROKER_CERT_FILE: files.keyFile, TIMER_BROKER_KEY_FILE: files.certFile }
    expect(problemsOf({ TIMER_BROKER_URL: "tls://h", ...swapped })).toEqual([
      expect.stringMatching(/^TIMER_BROKER_CERT_FILE must name a PEM file that contains -----BEGIN CERT/),
      expect.stringMatching(/^TIMER_BROKER_KEY_FILE must name a PEM file that contains a private key/),
    ])
  })

  test("has no effect without TLS, and is refused then", () => {
    for (const url of ["local:", "nats://h"]) {
      expect(problemsOf({ TIMER_BROKER_URL: url, ...pair() })).toEqual([
        expect.stringMatching(/^TIMER_BROKER_CERT_FILE only works with a broker over TLS/),
        expect.stringMatching(/^TIMER_BROKER_KEY_FILE only works with a broker over TLS/),
      ])
    }
  })
})
