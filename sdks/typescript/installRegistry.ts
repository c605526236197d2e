// Installs the tools and packages of the folder registry/ when a check first needs them. They are no part of the product, and
// `npm test` does not need them.
import { fileURLToPath } from "node:url"
import { ensureInstalled, stampOf } from "../../scripts/install.mjs"

/** The folder `node_modules` with everything that package.json names. */
export const installRegistry = (say: (line: string) => void): string => {
  const folder = fileURLToPath(new URL("registry/", import.meta.url))
  const what = "Installing what checks the package of the client (once) …"
  if (!ensureInstalled(folder, { stamps: [stampOf(folder)], say, what })) {
    throw new Error("npm could not install sdks/typescript/registry")
  }
  return `${folder}node_modules`
}
