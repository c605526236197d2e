// The documentation, as it was built, on a real service.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type PagePack, readPagePack } from "@punctual/http/pages/PagePack"
import {
  type RunningService,
  type ServiceOptions,
  withService,
} from "../../server/test/http/ServiceFixture.ts"

const packFile = fileURLToPath(new URL("../dist/docs.pack", import.meta.url))

export const docsPages = (): PagePack => readPagePack(readFileSync(packFile))

export const withSite = (
  use: (service: RunningService) => Promise<void>,
  options: ServiceOptions = {},
): Promise<void> => withService({ docs: docsPages(), ...options }, use)
