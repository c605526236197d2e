// Programs that check files of a deployment, from Debian's packages: Docker Compose and kustomize. They are fetched
// together, because the lists of packages are larger than the programs.
import { type DebianSuite, debianSuite } from "./DebianSuite.ts"

export const deployTools = (): DebianSuite =>
  debianSuite({
    title: "Docker Compose and kustomize",
    name: "deploy-tools-1",
    suite: "sid",
    packages: ["docker-compose", "kustomize"],
  })

/** The root folder of the packages. */
export const deployToolsFolder = (): string => {
  const found = deployTools()
  if ("missing" in found) throw new Error(found.missing)
  return found.folder
}
