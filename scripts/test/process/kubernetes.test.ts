// The Helm chart and the bases of kustomize: the files that follow from the chart are up to date, Kubernetes would accept
// what it renders, wrong values are refused with a clear message, and the service starts with the settings of its Pods. No
// cluster runs here.
import { expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describeNats } from "@punctual/bus/testkit/NatsBinary"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { YAML } from "bun"
import {
  chartCopies,
  goldenCases,
  rendered,
  renderedFiles,
  template,
  valuesFile,
} from "../../../deploy/helm/render.ts"
import { type Container, createdStatus, loopbackSettings } from "../../../server/testkit/ContainerSettings.ts"
import { eventually } from "../../../server/testkit/eventually.ts"
import {
  describeKubernetes,
  helm,
  kubernetesVersion,
  kubeScore,
  kustomized,
  type Manifest,
  manifestsOf,
  schemaErrorsOf,
} from "../../../server/testkit/KubernetesTools.ts"
import { describePostgres } from "../../../server/testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../../server/testkit/PostgresServer.ts"
import { Receiver } from "../../../server/testkit/Receiver.ts"
import { ServiceProcess } from "../../../server/testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../../server/testkit/TemporaryFolder.ts"
import { textOf } from "../../repository.ts"

setDefaultTimeout(120_000)

const chart = fileURLToPath(new URL("../../../deploy/helm/punctual", import.meta.url))
const render = "bun deploy/helm/render.ts writes it again"

test("the chart contains the alerts and dashboards of deploy/prometheus and deploy/grafana", () => {
  for (const [path, text] of Object.entries(chartCopies()))
    expect([path, textOf(`deploy/${path}`) === text ? "up to date" : render]).toEqual([path, "up to date"])
})

/** The parts of a Pod that tests look at. */
interface StatefulSet extends Manifest {
  readonly spec: {
    readonly replicas: number
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly volumes: ReadonlyArray<{
          readonly name: string
          readonly secret?: {
            readonly secretName: string
            readonly items: ReadonlyArray<{ readonly key: string; readonly path: string }>
          }
        }>
        readonly containers: ReadonlyArray<{
          readonly args: ReadonlyArray<string>
          readonly env: ReadonlyArray<{
            readonly name: string
            readonly value?: string
            readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } }
          }>
          readonly volumeMounts: ReadonlyArray<{ readonly name: string; readonly mountPath: string }>
          readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } }
        }>
      }
    }
  }
}

const setIn = (text: string): StatefulSet => {
  const found = manifestsOf(text).find(({ kind }) => kind === "StatefulSet")
  if (found === undefined) throw new Error("there is no StatefulSet")
  // Its schema was checked.
  return found as StatefulSet
}

/** What Kubernetes would start as this Pod, with these texts in the Secret. */
const podOf = (set: StatefulSet, number: number, secret: Readonly<Record<string, string>>): Container => {
  const { volumes, containers } = set.spec.template.spec
  const [container] = containers
  const fields: Readonly<Record<string, string>> = {
    "metadata.name": `${set.metadata.name}-${number}`,
    "metadata.namespace": set.metadata.namespace ?? "default",
  }
  const environment: Record<string, string> = {}
  for (const { name, value, valueFrom } of container?.env ?? []) {
    const text = value ?? fields[valueFrom?.fieldRef.fieldPath ?? ""] ?? ""
    // Kubernetes replaces the names of earlier variables.
    environment[name] = text.replaceAll(/\$\((\w+)\)/g, (_, earlier: string) => environment[earlier] ?? "")
  }
  const files = volumes.flatMap(({ name, secret: from }) => {
    const mount = container?.volumeMounts.find((it) => it.name === name)
    return (from?.items ?? []).map(({ key, path }) => [`${mount?.mountPath}/${path}`, secret[key] ?? ""])
  })
  return { environment, files: Object.fromEntries(files) }
}

describeKubernetes("the chart", () => {
  test("has golden files and bases of kustomize that are up to date", () => {
    for (const [path, text] of Object.entries(renderedFiles()))
      expect([path, textOf(`deploy/${path}`) === text ? "up to date" : render]).toEqual([path, "up to date"])
  })

  test.each([...goldenCases, "monitoring"])("with the values %s: helm lint, schemas, kube-score", (name) => {
    const linted = helm(
      ...["lint", chart, "--strict", "--kube-version", kubernetesVersion, "--values", valuesFile(name)],
    )
    expect([linted.code, linted.stdout]).toEqual([0, expect.stringContaining("0 chart(s) failed")])
    const text = rendered(valuesFile(name))
    const manifests = manifestsOf(text)
    expect(manifests.flatMap(schemaErrorsOf)).toEqual([])
    const own = manifests.filter(({ metadata }) => !metadata.name.endsWith("-extra"))
    expect(own.filter(({ metadata }) => metadata.namespace !== "shop")).toEqual([])
    expect(kubeScore(text, { ignored: scoreIgnored })).toEqual([])
  })

  test("is checked by schemas that refuse misspelt fields and wrong types", () => {
    const manifests = manifestsOf(rendered(valuesFile("full")))
    for (const [kind, changed, said] of [
      ["StatefulSet", { podManagmentPolicy: "Parallel" }, "podManagmentPolicy"],
      ["StatefulSet", { replicas: "three" }, "/spec/replicas must be integer"],
      ["ServiceMonitor", { endpoint: [] }, '"endpoint"'],
      ["HTTPRoute", { hostname: [] }, '"hostname"'],
      ["Ingress", { rules: {} }, "/spec/rules must be array"],
    ] as const) {
      const found = manifests.find((it) => it.kind === kind)
      if (found === undefined) throw new Error(`there is no ${kind}`)
      const errors = schemaErrorsOf({ ...found, spec: { ...found.spec, ...changed } })
      expect([kind, errors.join("; ")]).toEqual([kind, expect.stringContaining(said)])
    }
  })

  test("gives a Pod time for the sleep before its stop, the drain and the rest", () => {
    for (const [name, seconds] of [
      ["sqlite", 25 + 15],
      ["full", 60 + 20],
    ] as const) {
      const { terminationGracePeriodSeconds, containers } = setIn(rendered(valuesFile(name))).spec.template
        .spec
      expect(terminationGracePeriodSeconds).toBe(seconds)
      expect(containers[0]?.lifecycle?.preStop.sleep.seconds).toBe(name === "full" ? 10 : 5)
    }
  })

  test("adds the alerts and the dashboards unchanged", () => {
    const manifests = manifestsOf(rendered(valuesFile("monitoring")))
    const rule = manifests.find(({ kind }) => kind === "PrometheusRule")
    expect(rule).toMatchObject({ spec: YAML.parse(textOf("deploy/prometheus/rules.yaml")) as object })
    const maps = manifests.filter(({ kind }) => kind === "ConfigMap")
    expect(maps).toHaveLength(2)
    for (const { data = {} } of maps)
      for (const [file, text] of Object.entries(data))
        expect(JSON.parse(text)).toEqual(JSON.parse(textOf(`deploy/grafana/${file}`)))
  })

  test.each([
    [["replicaCount=3"], "replicaCount is 3, but SQLite is a file for one node."],
    [["store.kind=shared"], "existingSecret is empty. Write the URL of the database into store-url.txt"],
    [["store.kind=oracle"], "at '/store/kind': value must be one of 'sqlite', 'shared'"],
    [["broker.enabled=true"], "broker.enabled is true, and existingSecret is empty."],
    [["replicas=3"], "additional properties 'replicas' not allowed"],
    [["replicaCount=0"], "at '/replicaCount': minimum: got 0, want 1"],
    [["settings.TIMER_STORE_URL=postgres://x"], "settings.TIMER_STORE_URL is a secret."],
    [["settings.TIMER_NODE_NAME=x"], "settings.TIMER_NODE_NAME: the chart sets TIMER_NODE_NAME itself."],
    [["settings.HISTORY=1d"], "'HISTORY' does not match pattern"],
    [["persistence.size=ten"], "at '/persistence/size': 'ten' does not match pattern"],
    [["drainSeconds=25s"], "at '/drainSeconds': got string, want integer"],
    [["metrics.serviceMonitor.enabled=true"], "but Prometheus has no key for /metrics."],
    [["ingress.enabled=true"], "ingress.hosts is empty."],
    [["gateway.enabled=true"], "gateway.parentRefs is empty."],
    [
      ["store.kind=shared", "existingSecret=x", "replicaCount=5", "settings.TIMER_SHARDS=4"],
      "A node without a shard is never ready",
    ],
  ])("refuses %p in words", (values, said) => {
    const { code, stdout, stderr } = template(values.flatMap((value) => ["--set", value]))
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(said)])
  })

  test("has bases that kustomize accepts, in the namespace of the user", () => {
    using folder = new TemporaryFolder()
    for (const name of ["base", "cluster"]) {
      const base = fileURLToPath(new URL(`../../../deploy/kustomize/${name}`, import.meta.url))
      const overlay = join(folder.path, name)
      execFileSync("cp", ["-r", base, join(folder.path, `${name}-base`)])
      mkdirSync(overlay)
      writeFileSync(
        join(overlay, "kustomization.yaml"),
        `namespace: shop\nresources: [../${name}-base]\nimages: [{ name: punctual, newTag: 1.2.3 }]\n`,
      )
      const text = kustomized(overlay)
      const manifests = manifestsOf(text)
      expect(manifests.flatMap(schemaErrorsOf)).toEqual([])
      expect(manifests.filter(({ metadata }) => metadata.namespace !== "shop")).toEqual([])
      expect(text).toContain("image: punctual:1.2.3")
      expect(text).not.toContain("Helm")
    }
  })

  test("on SQLite starts a node that makes its key and fires a timer", async () => {
    using folder = new TemporaryFolder()
    const container = podOf(setIn(rendered(valuesFile("sqlite"))), 0, {})
    const settings = loopbackSettings(container, { folder: folder.path, replaced: {} })
    await using node = await ServiceProcess.ready({
      folder: folder.path,
      settings: { ...own(settings), TIMER_STORE_URL: `sqlite:${join(folder.path, "data/punctual.db")}` },
    })
    await using receiver = await Receiver.listening()
    const key = readFileSync(join(folder.path, "data/admin.key"), "utf8").trim()
    expect(await createdStatus(node.url, { timerId: "one", callbackUrl: receiver.url }, key)).toBe(200)
    await receiver.until("the timer fires", (deliveries) => deliveries.length === 1)
    // Without metrics.open, Prometheus needs a key.
    expect(await node.statusOf("/metrics")).toBe(401)
    for (const path of ["/health/live", "/health/ready"]) expect(await node.statusOf(path)).toBe(200)
    expect(await node.terminate()).toBe(0)
  })

  describePostgres("installed", "on PostgreSQL", () => {
    describeNats("with NATS", () => {
      test("starts nodes with the Secret that its notes make, and a timer fires through each", async () => {
        await using database = await PostgresServer.start("installed")
        await using broker = await NatsServer.start()
        using folder = new TemporaryFolder()
        const values = valuesFile("postgres")
        const secret = secretFromNotes(folder.path, values, {
          "store-url.txt": database.database().url,
          "broker-url.txt": broker.url,
        })
        const set = setIn(rendered(values))
        expect(Object.keys(secret).sort()).toEqual(
          ["admin-key", "cluster-secret", "secret-key", "store-url", "broker-url"].sort(),
        )
        await using stack = new AsyncDisposableStack()
        const nodes = Array.from({ length: set.spec.replicas }, (_, number) => {
          const name = `${set.metadata.name}-${number}`
          const container = podOf(set, number, secret)
          expect(container.environment["TIMER_NODE_ADDRESS"]).toBe(
            `${name}.timers-punctual-nodes.shop.svc:8080`,
          )
          const place = join(folder.path, name)
          mkdirSync(place)
          const replaced = { [`${name}.timers-punctual-nodes.shop.svc:8080`]: "127.0.0.1" }
          const settings = own(loopbackSettings(container, { folder: place, replaced }))
          return stack.use(new ServiceProcess({ folder: place, name, settings }))
        })
        expect(nodes).toHaveLength(3)
        await Promise.all(nodes.map((node) => node.start()))
        await using receiver = await Receiver.listening()
        const key = (secret["admin-key"] ?? "").trim()
        for (const [index, { url }] of nodes.entries())
          expect(
            await createdStatus(url, { timerId: `through-${index}`, callbackUrl: receiver.url }, key),
          ).toBe(200)
        await receiver.until("a timer fires through each node", ({ length }) => length === nodes.length)
        await eventually("every node is ready", async () => {
          const statuses = await Promise.all(nodes.map((node) => node.statusOf("/health/ready")))
          return statuses.every((status) => status === 200) || undefined
        })
        expect(await Promise.all(nodes.map((node) => node.terminate()))).toEqual([0, 0, 0])
      })
    })
  })
})

/**
 * What kube-score wants and the chart does not do: a limit of the processor makes timers late; an image of a release is never changed, so it
 * need not be fetched again; the nodes are spread by topologySpreadConstraints; and a policy of the network is the user's
 * choice.
 */
const scoreIgnored = [
  "ignore-container-cpu-limit",
  "ignore-test=container-image-pull-policy",
  "ignore-test=statefulset-has-host-podantiaffinity",
  "ignore-test=pod-networkpolicy",
]

/** The port of a container is fixed. Processes on one machine need several. */
const own = (settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  ...settings,
  TIMER_HTTP_PORT: "0",
})

/** Helm shows the notes only when it installs into a cluster. So a copy of the chart has a template that includes them. */
const notesOf = (folder: string, values: string): string => {
  const copy = join(folder, "chart")
  cpSync(chart, copy, { recursive: true })
  const template = `kind: Notes\ntext: |\n  {{- include "punctual/templates/NOTES.txt" . | nindent 2 }}\n`
  writeFileSync(join(copy, "templates/notes.yaml"), template)
  const flags = ["--namespace", "shop", "--kube-version", kubernetesVersion, "--values", values]
  const { code, stdout, stderr } = helm(
    "template",
    "timers",
    copy,
    ...flags,
    "--show-only",
    "templates/notes.yaml",
  )
  if (code !== 0) throw new Error(stderr)
  return stdout
}

/** Runs the command that the notes show, with a kubectl that writes the Secret into a folder. */
const secretFromNotes = (
  folder: string,
  values: string,
  files: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => {
  const command = /^ *kubectl create secret (?:.*\\\n)*.*$/m.exec(notesOf(folder, values))?.[0] ?? ""
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), `${text}\n`)
  const kubectl = join(folder, "kubectl")
  const script = `#!/bin/bash
mkdir secret
for given in "$@"; do
  [[ $given == --from-file=*=* ]] || continue
  pair=\${given#--from-file=}
  cat "\${pair#*=}" > "secret/\${pair%%=*}"
done
`
  writeFileSync(kubectl, script, { mode: 0o755 })
  const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}` }
  execFileSync("bash", ["-ec", command], { cwd: folder, env, stdio: ["ignore", "ignore", "inherit"] })
  const names = execFileSync("ls", ["secret"], { cwd: folder, encoding: "utf8" }).trim().split("\n")
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, "secret", name), "utf8")]))
}
