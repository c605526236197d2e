// What checks the chart: Helm and kube-score, which Go builds, kustomize from Debian's packages, and the schemas of
// Kubernetes, of the Prometheus operator and of the Gateway API, which Go downloads. No cluster is needed.
//
// kubectl-validate would check the same schemas, but building it takes almost as long as building Helm. So its schemas are
// used without it, with a validator that the project has anyway.
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Ajv } from "ajv"
import { YAML } from "bun"
import { deployTools, deployToolsFolder } from "./DebianDeployTools.ts"
import { suiteCommand } from "./DebianSuite.ts"
import { describeNeeding } from "./describeUnless.ts"
import { goModuleFiles, goProgram } from "./GoTools.ts"

/** The version of Kubernetes whose schemas are used: the oldest one that the chart supports. */
export const kubernetesVersion = "1.30.0"

const kubernetes = {
  from: "sigs.k8s.io/kubectl-validate@v0.0.4",
  folders: ["pkg/openapiclient/builtins/1.30"],
}
const prometheus = {
  from: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
  folders: ["example/prometheus-operator-crd"],
}
const gateway = { from: "sigs.k8s.io/gateway-api@v1.4.0", folders: ["config/crd/standard"] }

interface Tools {
  readonly helm: string
  readonly kubeScore: string
  readonly kubernetes: string
  readonly prometheus: string
  readonly gateway: string
}

let found: Tools | { readonly missing: string } | undefined

/** Searched once. If they must be built, the first call takes some minutes. */
const tools = (): Tools | { readonly missing: string } => {
  found ??= locate()
  return found
}

const locate = (): Tools | { readonly missing: string } => {
  const debian = deployTools()
  if ("missing" in debian) return debian
  const parts = {
    helm: goProgram({ name: "helm", from: "helm.sh/helm/v3/cmd/helm@v3.22.0" }),
    kubeScore: goProgram({ name: "kube-score", from: "github.com/zegl/kube-score/cmd/kube-score@v1.20.0" }),
    kubernetes: goModuleFiles(kubernetes),
    prometheus: goModuleFiles(prometheus),
    gateway: goModuleFiles(gateway),
  }
  const missing = Object.entries(parts).flatMap(([name, path]) => (path === undefined ? [name] : []))
  if (missing.length > 0)
    return { missing: `no ${missing.join(", no ")}: install Go 1.26 or newer, and allow it to fetch` }
  // None of them is missing.
  return parts as Tools
}

/** Defines tests that need these tools. Without them they are skipped by name, or fail in CI. */
export const describeKubernetes = (name: string, body: () => void): void => {
  const known = tools()
  describeNeeding("missing" in known ? known.missing : undefined, name, body)
}

const here = (): Tools => {
  const known = tools()
  if ("missing" in known) throw new Error(known.missing)
  return known
}

export interface ToolRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export const helm = (...args: ReadonlyArray<string>): ToolRun => {
  const { status, stdout, stderr } = spawnSync(here().helm, args, { encoding: "utf8", timeout: 60_000 })
  return { code: status, stdout, stderr }
}

/** What kube-score complains about, one line each. */
export const kubeScore = (
  manifests: string,
  { ignored }: { readonly ignored: ReadonlyArray<string> },
): ReadonlyArray<string> => {
  const { stdout } = spawnSync(
    here().kubeScore,
    [
      ...["score", "--kubernetes-version", "v1.30", "--output-format", "ci"],
      ...ignored.map((flag) => `--${flag}`),
      "-",
    ],
    { encoding: "utf8", input: manifests, timeout: 60_000 },
  )
  const lines = stdout.split("\n").filter((line) => line !== "")
  if (lines.length === 0) throw new Error("kube-score said nothing")
  return lines.filter((line) => !/^\[(?:OK|SKIPPED)\]/.test(line))
}

/** What `kustomize build` makes of a folder. */
export const kustomized = (folder: string): string => {
  const { command, args } = suiteCommand(deployToolsFolder(), "usr/bin/kustomize")
  return execFileSync(command, [...args, "build", folder], { encoding: "utf8", timeout: 60_000 })
}

/** An object of Kubernetes, as far as tests look at it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: object
  readonly data?: Readonly<Record<string, string>>
}

export const manifestsOf = (text: string): ReadonlyArray<Manifest> => {
  const parsed: unknown = YAML.parse(text)
  const all = Array.isArray(parsed) ? parsed : [parsed]
  return all.filter((it) => it !== null)
}

/** What an object breaks of the schema of its kind. Fields that the schema does not know are errors. */
export const schemaErrorsOf = (manifest: Manifest): ReadonlyArray<string> => {
  const { apiVersion, kind, metadata } = manifest
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion]
  const validate = validatorOf(group ?? "", version ?? "", kind)
  if (validate === undefined) return [`${kind} ${metadata.name}: there is no schema for ${apiVersion}`]
  validate(manifest)
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${kind} ${metadata.name}: ${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

type Schema = Readonly<Record<string, unknown>>
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
const validators = new Map<string, ReturnType<Ajv["compile"]> | undefined>()

const validatorOf = (group: string, version: string, kind: string) => {
  const name = `${group}/${version}/${kind}`
  if (!validators.has(name)) {
    const schema = /\.(?:coreos\.com|networking\.k8s\.io)$/.test(`.${group}`)
      ? (customSchema(group, version, kind) ?? builtInSchema(group, version, kind))
      : builtInSchema(group, version, kind)
    validators.set(name, schema === undefined ? undefined : ajv.compile(schema))
  }
  return validators.get(name)
}

/** From the OpenAPI document of the group. */
const builtInSchema = (group: string, version: string, kind: string): Schema | undefined => {
  const path = join(
    "pkg/openapiclient/builtins/1.30",
    group === "" ? "api" : `apis/${group}`,
    `${version}.json`,
  )
  const { components } = JSON.parse(readFileSync(join(here().kubernetes, path), "utf8"))
  const schemas: Record<string, Schema> = components.schemas
  const found = Object.entries(schemas).find(([, schema]) => {
    const kinds = (schema["x-kubernetes-group-version-kind"] ?? []) as ReadonlyArray<Schema>
    return kinds.some((it) => it["group"] === group && it["version"] === version && it["kind"] === kind)
  })
  if (found === undefined) return undefined
  return { $ref: `#/components/schemas/${found[0]}`, components: { schemas: closed(schemas) } }
}

/** From the definition of a custom resource. */
const customSchema = (group: string, version: string, kind: string): Schema | undefined => {
  const { prometheus, gateway } = here()
  const folder =
    group === "monitoring.coreos.com"
      ? join(prometheus, "example/prometheus-operator-crd")
      : join(gateway, "config/crd/standard")
  let text: string
  try {
    text = readFileSync(join(folder, `${group}_${kind.toLowerCase()}s.yaml`), "utf8")
  } catch {
    return undefined
  }
  const [definition] = manifestsOf(text) as ReadonlyArray<{
    readonly spec?: {
      readonly versions: ReadonlyArray<{
        readonly name: string
        readonly schema: { readonly openAPIV3Schema: Schema }
      }>
    }
  }>
  const found = definition?.spec?.versions.find(({ name }) => name === version)
  return found === undefined ? undefined : (closed(found.schema.openAPIV3Schema) as Schema)
}

/** The same schema, which refuses fields that it does not know. A misspelt field would otherwise have no effect. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== "object" || schema === null) return schema
  const entries = Object.entries(schema).filter(
    ([name, value]) => name !== "pattern" || isKnownPattern(value),
  )
  const inside = Object.fromEntries(entries.map(([name, value]) => [name, closed(value)]))
  const isOpen =
    !("properties" in schema) ||
    typeof inside["properties"] !== "object" ||
    "additionalProperties" in schema ||
    "x-kubernetes-preserve-unknown-fields" in schema ||
    !("type" in schema)
  return isOpen ? inside : { ...inside, additionalProperties: false }
}

/** Schemas are written for the patterns of Go. Some of these are not known here, and are not checked. */
const isKnownPattern = (pattern: unknown): boolean => {
  if (typeof pattern !== "string") return true
  try {
    return new RegExp(pattern, "u") instanceof RegExp
  } catch {
    return false
  }
}
