// Servers that are published as jars, such as Kafka and Cassandra. Maven copies the jars of a pom into the cache.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fetchedFolder } from "./fetchedFolder.ts"

/** `folder` has the jars. */
export type MavenPackages = { readonly folder: string } | { readonly missing: string }

const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
const copyWithinMs = 600_000

const found = new Map<string, MavenPackages>()

/** The jars that the pom depends on at run time. `title` names the server for people, such as `Kafka 4.3.1`. */
export const mavenPackages = (title: string, pom: string): MavenPackages => {
  const known = found.get(pom) ?? locate(title, pom)
  found.set(pom, known)
  return known
}

const locate = (title: string, pom: string): MavenPackages => {
  if (!isInstalled("java", "-version"))
    return { missing: `no Java for ${title}: install a JDK of version 17 or newer` }
  const hash = createHash("sha256").update(pom).digest("hex").slice(0, 12)
  const name = `${title.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-")}-${hash}`
  const folder = fetchedFolder({ name, fill: (into) => isFilled(title, pom, into) })
  return folder === undefined
    ? { missing: `no jars of ${title}: install Maven (mvn), and allow it to fetch them` }
    : { folder }
}

const isFilled = (title: string, pom: string, into: string): boolean => {
  const pomFile = join(into, "pom.xml")
  writeFileSync(pomFile, pom)
  process.stderr.write(`The tests need ${title}: mvn dependency:copy-dependencies\n`)
  try {
    const args = [
      "-q",
      "-B",
      "-f",
      pomFile,
      copyDependencies,
      `-DoutputDirectory=${into}`,
      "-DincludeScope=runtime",
    ]
    execFileSync("mvn", args, { stdio: ["ignore", "ignore", "inherit"], timeout: copyWithinMs })
  } catch {
    process.stderr.write(`That failed: ${title} could not be fetched with Maven\n`)
    return false
  }
  return readdirSync(into).some((file) => file.endsWith(".jar"))
}

const isInstalled = (command: string, ...args: ReadonlyArray<string>): boolean => {
  try {
    execFileSync(command, args, { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
