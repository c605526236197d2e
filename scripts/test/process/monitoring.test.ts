// Alerts and dashboards: they are up to date, every metric that they name exists, every expression can be parsed, and
// every alert fires when it should and is silent otherwise.
import { expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { dashboardExpressions, dashboardFiles } from "../../../deploy/grafana/dashboards.ts"
import { alerts } from "../../../deploy/prometheus/alerts.ts"
import { alertFiles } from "../../../deploy/prometheus/makeAlerts.ts"
import { makeCertificates } from "../../../server/testkit/Certificates.ts"
import { clusterSecret } from "../../../server/testkit/ClusterHarness.ts"
import { unpackDebian } from "../../../server/testkit/DebianPackages.ts"
import { describeNeeding } from "../../../server/testkit/describeUnless.ts"
import { eventually } from "../../../server/testkit/eventually.ts"
import { fetchedFolder } from "../../../server/testkit/fetchedFolder.ts"
import { describePostgres } from "../../../server/testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../../server/testkit/PostgresServer.ts"
import { Receiver } from "../../../server/testkit/Receiver.ts"
import { ServiceProcess } from "../../../server/testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../../server/testkit/TemporaryFolder.ts"
import { textOf } from "../../repository.ts"

setDefaultTimeout(60_000)

const rulesFolder = fileURLToPath(new URL("../../../deploy/prometheus", import.meta.url))

test("the files of alerts and dashboards are up to date", () => {
  for (const [path, text] of Object.entries({ ...alertFiles(), ...dashboardFiles() }))
    expect([path, textOf(path) === text]).toEqual([path, true])
})

test("panels of a dashboard do not overlap, and each has a title and says what is good", () => {
  for (const text of Object.values(dashboardFiles())) {
    const { panels } = JSON.parse(text)
    const cells = new Set<string>()
    for (const { gridPos, title, description } of panels) {
      expect(title).not.toBe("")
      expect(description).not.toBe("")
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(cells.has(`${x} ${y}`)).toBe(false)
          cells.add(`${x} ${y}`)
        }
    }
  }
})

const expressions = (): ReadonlyArray<string> => [
  ...alerts.map(({ expr }) => expr),
  ...dashboardExpressions(),
]

describePostgres("installed", "a node with TLS on a shared store", () => {
  test("has every metric that an alert or a dashboard names", async () => {
    using folder = new TemporaryFolder()
    const { certFile, keyFile, caFile } = makeCertificates(folder.path)
    await using server = await PostgresServer.start("installed")
    const settings = {
      TIMER_STORE_URL: server.database().url,
      TIMER_CLUSTER_SECRET: clusterSecret,
      TIMER_TLS_CERT_FILE: certFile,
      TIMER_TLS_KEY_FILE: keyFile,
    }
    await using service = await ServiceProcess.ready({ folder: folder.path, settings, caFile })
    const named = new Set(expressions().flatMap((expr) => expr.match(/\btimer_[a-z_]+/g) ?? []))
    await using receiver = await Receiver.listening()
    await service.fetch("/api/v1/timers/create", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ namespace: "watched", delay: "10ms", callbackUrl: receiver.url }),
    })
    // Histograms appear with their first value.
    const text = await eventually("every part has shown its metrics", async () => {
      const metrics = await (await service.fetch("/metrics")).text()
      return shownLast.every((name) => metrics.includes(`\n${name}`)) ? metrics : undefined
    })
    const there = new Set([...text.matchAll(/^(timer_[a-z_]+)/gm)].map(([, name]) => name))
    expect([...named].filter((name) => !there.has(name))).toEqual([])
    const labels = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map(([, name]) => name))
    expect(
      expressions()
        .flatMap(labelsOf)
        .filter((label) => !labels.has(label)),
    ).toEqual([])
    expect(named.size).toBeGreaterThan(25)
  })
})

const shownLast = ["timer_clock_offset_seconds", "timer_lateness_seconds_bucket", "timer_commit_items_sum"]

/** Prometheus itself adds these. */
const labelsOfPrometheus = ["instance", "job"]

/** The labels that an expression matches or groups by. */
const labelsOf = (expr: string): ReadonlyArray<string> =>
  [
    ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", ")),
    ...[...expr.matchAll(/[{,]([a-z_]+)=~?"/g)].map(([, name = ""]) => name),
  ].filter((label) => label !== "" && !labelsOfPrometheus.includes(label))

const programs = fetchedFolder({
  name: "prometheus-1",
  fill: (into) => unpackDebian(["prometheus"], join(into, "root"), "The tests need promtool"),
})
const missing =
  programs === undefined ? "no promtool: allow apt-get to fetch Debian's package prometheus" : undefined

describeNeeding(missing, "promtool", () => {
  const promtool = (...args: ReadonlyArray<string>): string =>
    execFileSync(join(programs ?? "", "root/usr/bin/promtool"), args, { cwd: rulesFolder, encoding: "utf8" })

  test("accepts the rules", () => {
    expect(promtool("check", "rules", "rules.yaml")).toContain(`${alerts.length} rules found`)
  })

  test("sees each alert fire, and stay silent", () => {
    expect(promtool("test", "rules", "rules.test.yaml")).toContain("SUCCESS")
  })

  test("accepts the configurations that Docker Compose gives Prometheus", () => {
    using folder = new TemporaryFolder()
    // Compose mounts the rules beside the configuration.
    writeFileSync(join(folder.path, "rules.yaml"), textOf("deploy/prometheus/rules.yaml"))
    for (const name of ["prometheus.yaml", "prometheus.cluster.yaml"]) {
      const file = join(folder.path, name)
      writeFileSync(file, textOf(`deploy/compose/monitoring/${name}`))
      expect(promtool("check", "config", file)).toContain(`${alerts.length} rules found`)
    }
  })

  test("parses every expression of the dashboards", () => {
    using folder = new TemporaryFolder()
    const file = join(folder.path, "expressions.yaml")
    const rules = dashboardExpressions().map((expr, index) => ({
      record: `dashboard:${index}`,
      // Grafana replaces these words before Prometheus sees them.
      expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$node", ".*"),
    }))
    writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboards", rules }] }))
    expect(promtool("check", "rules", file)).toContain(`${rules.length} rules found`)
  })
})
