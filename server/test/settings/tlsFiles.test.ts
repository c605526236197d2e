// The files of a certificate: what is refused at the start, and what happens when they change while the service runs.
import { afterAll, describe, expect, test } from "bun:test"
import { createPrivateKey } from "node:crypto"
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { readTlsPair, type TlsPair } from "@punctual/door/TlsPair"
import { TlsWatch } from "@punctual/door/TlsWatch"
import { allBuses } from "../../src/buses/all.ts"
import { readConfiguration } from "../../src/settings/Configuration.ts"
import { allStores } from "../../src/stores/all.ts"
import { type Certificates, makeCertificates } from "../../testkit/Certificates.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())

const madeIn = (name: string): Certificates => {
  mkdirSync(join(folder.path, name))
  return makeCertificates(join(folder.path, name))
}
const [one, other] = [madeIn("one"), madeIn("other")]

const fileOf = (name: string, text: string): string => {
  const file = join(folder.path, name)
  writeFileSync(file, text)
  return file
}

describe("at the start", () => {
  const problemsOf = (certFile?: string, keyFile?: string): ReadonlyArray<string> => {
    const read = readConfiguration(
      {
        ...(certFile === undefined ? {} : { TIMER_TLS_CERT_FILE: certFile }),
        ...(keyFile === undefined ? {} : { TIMER_TLS_KEY_FILE: keyFile }),
      },
      { stores: allStores, buses: allBuses },
    )
    return "problems" in read ? read.problems : []
  }

  test("a certificate with its key is accepted, also with its chain", () => {
    expect(problemsOf(one.certFile, one.keyFile)).toEqual([])
    const chain = readFileSync(one.certFile, "utf8") + readFileSync(one.caFile, "utf8")
    expect(problemsOf(fileOf("chain.pem", chain), one.keyFile)).toEqual([])
  })

  const absent = join(folder.path, "absent")
  const encrypted = createPrivateKey(readFileSync(one.keyFile)).export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "x",
  })
  const brokenChain = `${readFileSync(one.certFile, "utf8")}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`
  const wrong: Readonly<
    Record<string, readonly [cert: string | undefined, key: string | undefined, text: string]>
  > = {
    "a certificate without a key": [one.certFile, undefined, "TIMER_TLS_KEY_FILE is missing"],
    "a key without a certificate": [undefined, one.keyFile, "TIMER_TLS_CERT_FILE is missing"],
    "the key of another certificate": [
      one.certFile,
      other.keyFile,
      "TIMER_TLS_KEY_FILE must name the key of",
    ],
    "a missing certificate": [
      absent,
      one.keyFile,
      "TIMER_TLS_CERT_FILE must name a file that can be read (ENOENT)",
    ],
    "a missing key": [one.certFile, absent, "TIMER_TLS_KEY_FILE must name a file that can be read (ENOENT)"],
    "a folder": [folder.path, one.keyFile, "TIMER_TLS_CERT_FILE must name a file of at most"],
    "a key as a certificate": [one.keyFile, one.keyFile, "TIMER_TLS_CERT_FILE must name a PEM file"],
    "a certificate as a key": [one.certFile, one.certFile, "TIMER_TLS_KEY_FILE must name a PEM file"],
    "a broken chain": [
      fileOf("broken.pem", brokenChain),
      one.keyFile,
      "TIMER_TLS_CERT_FILE must name a PEM file",
    ],
    "a key with a passphrase": [
      one.certFile,
      fileOf("encrypted.key", String(encrypted)),
      "TIMER_TLS_KEY_FILE must name a key without a passphrase",
    ],
  }
  for (const [name, [cert, key, text]] of Object.entries(wrong)) {
    test(`${name} is refused, and the error names the setting`, () => {
      const problems = problemsOf(cert, key)
      expect(problems).toHaveLength(1)
      expect(problems[0]).toStartWith(text)
    })
  }
})

describe("while the service runs", () => {
  const pairOf = (files: Certificates): TlsPair => {
    const read = readTlsPair(files)
    if ("problem" in read) throw new Error(read.problem)
    return read
  }

  /** The files at one place, which tests replace. */
  const watched = (name: string) => {
    const place = join(folder.path, name)
    mkdirSync(place)
    const files = { certFile: join(place, "tls.crt"), keyFile: join(place, "tls.key") }
    copyFileSync(one.certFile, files.certFile)
    copyFileSync(one.keyFile, files.keyFile)
    return { files, watch: new TlsWatch(files, pairOf(one)) }
  }

  test("files that stay the same are no change", async () => {
    const { watch } = watched("same")
    expect([await watch.look(), await watch.look()]).toEqual(["none", "none"])
  })

  test("new files are noticed once, also between two writes", async () => {
    const { files, watch } = watched("written")
    copyFileSync(other.certFile, files.certFile)
    expect(await watch.look()).toBe("none")
    copyFileSync(other.keyFile, files.keyFile)
    expect(await watch.look()).toEqual({ pair: pairOf(other) })
    expect(await watch.look()).toBe("none")
  })

  test("wrong files are reported once, when a second look finds them unchanged, and right ones are used again", async () => {
    const { files, watch } = watched("wrong")
    writeFileSync(files.certFile, "nonsense")
    expect(await watch.look()).toBe("none")
    expect(await watch.look()).toMatchObject({ file: "cert" })
    expect(await watch.look()).toBe("none")
    rmSync(files.keyFile)
    copyFileSync(other.certFile, files.certFile)
    expect(await watch.look()).toBe("none")
    expect(await watch.look()).toMatchObject({ file: "key" })
    expect(await watch.look()).toBe("none")
    copyFileSync(other.keyFile, files.keyFile)
    expect(await watch.look()).toEqual({ pair: pairOf(other) })
  })

  test("the swap of a symbolic link above the files is noticed, as orchestrators do it", async () => {
    const place = join(folder.path, "mounted")
    mkdirSync(place)
    symlinkSync(join(folder.path, "one"), join(place, "..data"))
    for (const name of ["server.pem", "server.key"]) symlinkSync(join("..data", name), join(place, name))
    const files = { certFile: join(place, "server.pem"), keyFile: join(place, "server.key") }
    const watch = new TlsWatch(files, pairOf(one))
    expect(await watch.look()).toBe("none")
    symlinkSync(join(folder.path, "other"), join(place, "..next"))
    renameSync(join(place, "..next"), join(place, "..data"))
    expect(await watch.look()).toEqual({ pair: pairOf(other) })
  })
})
