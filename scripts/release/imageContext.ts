// The folder from which `docker build` makes the image (deploy/docker/Dockerfile): an executable for each architecture,
// and the empty folder that becomes the place of the data.
import { linkSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { executableName, type Platform } from "./executables.ts"

/** Docker's names of the architectures. Processors without AVX2 can run the image, too. */
const architectures: Readonly<Record<string, string>> = {
  "linux-x64-baseline": "amd64",
  "linux-arm64": "arm64",
}

/** Returns the architectures for which Docker can build the image. */
export const buildImageContext = (built: ReadonlyArray<Platform>, folder: string): ReadonlyArray<string> => {
  mkdirSync(join(folder, "image", "data"), { recursive: true })
  return built.flatMap((platform) => {
    const architecture = architectures[platform.name]
    if (architecture === undefined) return []
    const place = join(folder, "image", architecture)
    mkdirSync(place)
    linkSync(join(folder, "executables", executableName(platform)), join(place, "punctual"))
    return [architecture]
  })
}
