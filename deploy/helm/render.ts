// Writes every file that follows from the chart or that the chart takes from elsewhere: the copies of alerts and
// dashboards in the chart, the golden files, and the bases of kustomize. A test compares all of them with what this module
// makes.
//
//   bun deploy/helm/render.ts
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { helm, kubernetesVersion } from "../../server/testkit/KubernetesTools.ts"

const deploy = fileURLToPath(new URL("..", import.meta.url))
const chart = join(deploy, "helm/punctual")

export const goldenCases = ["sqlite", "postgres", "full", "ephemeral"] as const

/** Files that the chart contains a copy of, because a chart cannot read files outside of its folder. */
const copied: Readonly<Record<string, string>> = {
  "helm/punctual/files/rules.yaml": "prometheus/rules.yaml",
  "helm/punctual/files/punctual-punctual.json": "grafana/punctual-punctual.json",
  "helm/punctual/files/punctual-inside.json": "grafana/punctual-inside.json",
}

/** The texts of all copies, by their paths below deploy. */
export const chartCopies = (): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(copied).map(([to, from]) => [to, textIn(from)]))

export const valuesFile = (name: string): string => join(deploy, "helm/values", `${name}.yaml`)

/** What Helm makes of the chart with these values. */
export const rendered = (values: string, flags: ReadonlyArray<string> = []): string => {
  const { code, stdout, stderr } = template(["--values", values, ...flags])
  if (code !== 0) throw new Error(stderr)
  return stdout
}

/** Runs `helm template` for a release with the name timers, in the namespace shop. */
export const template = (flags: ReadonlyArray<string>) =>
  helm("template", "timers", chart, "--namespace", "shop", "--kube-version", kubernetesVersion, ...flags)

/** The golden files and the bases of kustomize, by their paths below deploy. They need Helm. */
export const renderedFiles = (): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(
    goldenCases.map((name) => [`helm/golden/${name}.yaml`, rendered(valuesFile(name))] as const),
  ),
  ...kustomizeBase("base", "One node on SQLite", ["--set", "existingSecret=punctual"]),
  ...kustomizeBase("cluster", "Three nodes on a shared store", [
    ...["--set", "store.kind=shared", "--set", "existingSecret=punctual"],
  ]),
})

const kustomizeBase = (name: string, what: string, flags: ReadonlyArray<string>) => {
  const { code, stdout, stderr } = helm(
    ...["template", "punctual", chart, "--kube-version", kubernetesVersion, ...flags],
  )
  if (code !== 0) throw new Error(stderr)
  const made = `# deploy/helm/render.ts makes this file from the chart. Change the chart, not this file.\n`
  const manifests = stdout
    .split("\n")
    // The namespace is that of the user of the base, and Helm does not manage the objects.
    .filter(
      (line) => !/^ +(?:namespace: default|app\.kubernetes\.io\/managed-by: |helm\.sh\/chart: )/.test(line),
    )
    .filter((line) => !line.startsWith("# Source: "))
    .join("\n")
  const kustomization = `${made}# ${what}. docs/guides/kubernetes.md says which Secret it needs.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - punctual.yaml
`
  return {
    [`kustomize/${name}/kustomization.yaml`]: kustomization,
    [`kustomize/${name}/punctual.yaml`]: `${made}${manifests}`,
  }
}

const textIn = (path: string): string => readFileSync(join(deploy, path), "utf8")

if (import.meta.main) {
  const write = (files: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(deploy, path)), { recursive: true })
      writeFileSync(join(deploy, path), text)
    }
  }
  // The chart renders its copies, so they come first.
  write(chartCopies())
  write(renderedFiles())
}
