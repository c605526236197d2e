// Finds a real RabbitMQ for the tests: Debian's packages of the server and of Erlang, unpacked once into the cache folder
// of the user. Without them the tests fail in CI, and are skipped with a reason elsewhere.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { librariesBelow, unpackDebian, withMissingLibraries } from "@punctual/server/testkit/DebianPackages"
import { describeNeeding } from "@punctual/server/testkit/describeUnless"
import { fetchedFolder } from "@punctual/server/testkit/fetchedFolder"

export interface RabbitFiles {
  /** The folder of the server's start scripts. */
  readonly scripts: string
  /** The root of Erlang. */
  readonly erlang: string
  readonly erlangVersion: string
  /** For LD_LIBRARY_PATH. */
  readonly libraries: string
  readonly version: string
}

export type RabbitBinaries = RabbitFiles | { readonly missing: string }

/** Defines tests that need a RabbitMQ server. Without one they are skipped by name, or fail in CI. */
export const describeRabbit = (name: string, body: () => void): void => {
  const binaries = rabbitBinaries()
  describeNeeding("missing" in binaries ? binaries.missing : undefined, name, body)
}

let found: RabbitBinaries | undefined

/** Searched once. If it must be fetched, the first call can take a minute. */
export const rabbitBinaries = (): RabbitBinaries => {
  found ??= locate()
  return found
}

const missing = {
  missing: "no RabbitMQ: it comes from Debian's packages, and apt-get could not fetch them",
}

const locate = (): RabbitBinaries => {
  const folder = fetchedFolder({ name: "rabbitmq-3.10-1", fill: isFilled })
  if (folder === undefined) return missing
  const root = join(folder, "root")
  const versions = join(root, "usr/lib/rabbitmq/lib")
  const erlang = join(root, "usr/lib/erlang")
  const server = readdirSync(versions).find((name) => name.startsWith("rabbitmq_server-"))
  const runtime = readdirSync(erlang).find((name) => name.startsWith("erts-"))
  if (server === undefined || runtime === undefined) return missing
  return {
    scripts: join(versions, server, "sbin"),
    erlang,
    erlangVersion: runtime,
    libraries: librariesBelow(root),
    version: server.slice("rabbitmq_server-".length),
  }
}

const isFilled = (folder: string): boolean => {
  const into = join(folder, "root")
  const packages = withMissingLibraries(["rabbitmq-server"])
  if (packages.length === 0) return false
  return unpackDebian(packages, into, "The tests need RabbitMQ") && existsSync(join(into, "usr/lib/rabbitmq"))
}
