// Anyone can repeat the benchmarks with the peers: on a new machine they install with the versions of their lock file. `npm
// ci` once refused that file, and nobody noticed.
import { expect, test } from "bun:test"
import { cpSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { installPeers } from "../../src/peers/Peer.ts"

const peers = fileURLToPath(new URL("../../peers/", import.meta.url))

const versionIn = (file: string): string => JSON.parse(readFileSync(file, "utf8")).version

test("the peers install in a new folder, with the versions that they are listed with", async () => {
  using folder = new TemporaryFolder()
  for (const file of ["package.json", "package-lock.json"]) cpSync(join(peers, file), join(folder.path, file))
  await installPeers(() => {}, folder.path)
  const listed: Record<string, string> = JSON.parse(
    readFileSync(join(peers, "package.json"), "utf8"),
  ).dependencies
  const installed = Object.fromEntries(
    Object.keys(listed).map((name) => [
      name,
      versionIn(join(folder.path, "node_modules", name, "package.json")),
    ]),
  )
  expect(installed).toEqual(listed)
}, 300_000)
