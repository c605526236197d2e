// The two dashboards for Grafana: "Is it punctual?" for everybody who depends on timers, and "Inside" for those who run
// the service. `bun deploy/grafana/dashboards.ts` writes their JSON. A test checks that the JSON is up to date, that
// every metric exists, and that every expression can be parsed.
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

interface Panel {
  readonly title: string
  readonly kind?: "timeseries" | "stat" | "heatmap"
  readonly unit?: string
  /** What the panel shows, and what is good. */
  readonly says: string
  /** The legend of each line, and its expression. `$node` stands for the chosen nodes. */
  readonly lines: Readonly<Record<string, string>>
  readonly width?: 6 | 8 | 12 | 24
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  /** The uid of the dashboard that this one links to. */
  readonly linksTo: string
  readonly panels: ReadonlyArray<Panel>
}

const chosen = 'instance=~"$node"'

const lateness = (quantile: number): string =>
  `histogram_quantile(${quantile}, sum by (le) (rate(timer_lateness_seconds_bucket{${chosen}}[$__rate_interval])))`

const rate = (metric: string, by: string, labels = ""): string =>
  `sum by (${by}) (rate(${metric}{${chosen}${labels === "" ? "" : `,${labels}`}}[$__rate_interval]))`

const punctual: Dashboard = {
  uid: "punctual-punctual",
  title: "Punctual: is it punctual?",
  linksTo: "punctual-inside",
  panels: [
    {
      title: "Late, 99 of 100 timers",
      kind: "stat",
      unit: "s",
      says: "99 of 100 timers were less late than this. Below 10 ms is usual.",
      lines: { p99: lateness(0.99) },
      width: 6,
    },
    {
      title: "Longest overdue",
      kind: "stat",
      unit: "s",
      says: "How long the oldest due timer has waited.",
      lines: { "longest overdue": `max(timer_oldest_due_age_seconds{${chosen}})` },
      width: 6,
    },
    {
      title: "Pending",
      kind: "stat",
      unit: "short",
      says: "Timers that are stored and not yet due.",
      lines: { pending: `max(timer_pending{${chosen}})` },
      width: 6,
    },
    {
      title: "Dead letters in 24 hours",
      kind: "stat",
      unit: "short",
      says: "Timers that could not be delivered. They wait for a person.",
      lines: { dead: `sum(increase(timer_deliveries_total{${chosen},outcome="dead"}[24h]))` },
      width: 6,
    },
    {
      title: "How late timers fire",
      unit: "s",
      says: "From the due time to the moment when the request is sent.",
      lines: { p50: lateness(0.5), p99: lateness(0.99), "p99.9": lateness(0.999) },
      width: 12,
    },
    {
      title: "Lateness, all timers",
      kind: "heatmap",
      unit: "s",
      says: "Each cell counts timers. A punctual service has one line at the bottom.",
      lines: {
        "{{le}}": `sum by (le) (increase(timer_lateness_seconds_bucket{${chosen}}[$__rate_interval]))`,
      },
      width: 12,
    },
    {
      title: "Deliveries",
      unit: "ops",
      says: "Finished attempts in a second, by outcome.",
      lines: { "{{outcome}}": rate("timer_deliveries_total", "outcome") },
      width: 12,
    },
    {
      title: "Waiting and running",
      unit: "short",
      says: "Due timers that wait for a place, and attempts that run.",
      lines: {
        waiting: `sum(timer_ready{${chosen}})`,
        running: `sum(timer_in_flight{${chosen}})`,
        "running, host silent": `sum(timer_slow_in_flight{${chosen}})`,
      },
      width: 12,
    },
    {
      title: "Hosts that get no calls",
      unit: "short",
      says: "Open breakers, and hosts that the egress rules refuse.",
      lines: {
        "open breakers": `max(timer_open_breakers{${chosen}})`,
        "refused hosts": `max(timer_egress_refused_hosts{${chosen}})`,
      },
      width: 12,
    },
    {
      title: "Namespaces",
      unit: "short",
      says: "Namespaces with a backlog, and paused ones.",
      lines: {
        "with a backlog": `max(timer_congested_namespaces{${chosen}})`,
        paused: `max(timer_paused_namespaces{${chosen}})`,
      },
      width: 12,
    },
  ],
}

const inside: Dashboard = {
  uid: "punctual-inside",
  title: "Punctual: inside",
  linksTo: "punctual-punctual",
  panels: [
    {
      title: "Shards by node",
      unit: "short",
      says: "Every shard needs an owner. A change means that nodes came or went.",
      lines: { "{{instance}}": `sum by (instance) (timer_owned_shards{${chosen}})` },
      width: 8,
    },
    {
      title: "Changes of owners",
      unit: "ops",
      says: "Claims, hand-overs and losses of shards.",
      lines: { "{{change}}": rate("timer_ownership_changes_total", "change") },
      width: 8,
    },
    {
      title: "Refused writes of former owners",
      unit: "ops",
      says: "The fence at work. It grows only after a fault.",
      lines: { fenced: rate("timer_fenced_writes_total", "instance") },
      width: 8,
    },
    {
      title: "Requests",
      unit: "reqps",
      says: "Requests in a second, by class of status.",
      lines: { "{{status}}": rate("timer_http_requests_total", "status") },
      width: 12,
    },
    {
      title: "Duration of requests, p99",
      unit: "s",
      says: "By route.",
      lines: {
        "{{route}}": `histogram_quantile(0.99, sum by (le, route) (rate(timer_http_request_duration_seconds_bucket{${chosen}}[$__rate_interval])))`,
      },
      width: 12,
    },
    {
      title: "Writes in one commit",
      unit: "short",
      says: "How many writes share a commit. It grows with the load.",
      lines: {
        mean: `sum(rate(timer_commit_items_sum{${chosen}}[$__rate_interval])) / sum(rate(timer_commit_items_count{${chosen}}[$__rate_interval]))`,
      },
      width: 8,
    },
    {
      title: "The thread was held, p99",
      unit: "s",
      says: "How long the thread on which timers fire was held at a time.",
      lines: {
        "{{instance}}": `histogram_quantile(0.99, sum by (le, instance) (rate(timer_thread_stall_seconds_bucket{${chosen}}[$__rate_interval])))`,
      },
      width: 8,
    },
    {
      title: "Age of the loops",
      unit: "s",
      says: "Time since each loop of the engine made progress.",
      lines: { "{{loop}}": `max by (loop) (timer_loop_progress_age_seconds{${chosen}})` },
      width: 8,
    },
    {
      title: "Timers in memory",
      unit: "short",
      says: "The windows: timers that are due soon.",
      lines: { "{{instance}}": `sum by (instance) (timer_window_timers{${chosen}})` },
      width: 8,
    },
    {
      title: "Memory of the windows",
      unit: "bytes",
      says: "It is limited.",
      lines: { "{{instance}}": `sum by (instance) (timer_window_bytes{${chosen}})` },
      width: 8,
    },
    {
      title: "Found only by the sweep",
      unit: "short",
      says: "Zero, except after shards moved. Anything else is a defect.",
      lines: { rescued: `sum(increase(timer_sweep_rescued_total{${chosen}}[$__rate_interval]))` },
      width: 8,
    },
    {
      title: "Connections",
      unit: "short",
      says: "Open connections of clients, and readers of events.",
      lines: {
        connections: `sum(timer_http_connections{${chosen}})`,
        "event readers": `sum(timer_event_readers{${chosen}})`,
      },
      width: 12,
    },
    {
      title: "Calls between nodes",
      unit: "ops",
      says: "Writes that were sent to the owner of their shard.",
      lines: { "{{result}}": rate("timer_forwarded_requests_total", "result") },
      width: 12,
    },
  ],
}

export const dashboards: ReadonlyArray<Dashboard> = [punctual, inside]

const rowWidth = 24
const heights = { stat: 4, timeseries: 8, heatmap: 8 } as const

/** Places the panels in rows, from left to right. */
const placed = (panels: ReadonlyArray<Panel>) => {
  let x = 0
  let y = 0
  let rowHeight = 0
  return panels.map((panel, index) => {
    const { width = 12, kind = "timeseries" } = panel
    if (x + width > rowWidth) {
      x = 0
      y += rowHeight
      rowHeight = 0
    }
    const gridPos = { x, y, w: width, h: heights[kind] }
    x += width
    rowHeight = Math.max(rowHeight, gridPos.h)
    return panelJson(panel, index + 1, gridPos)
  })
}

/** The data source that the reader chose. Grafana replaces the name. */
const source = { type: "prometheus", uid: "$source" }

const panelJson = (
  { title, kind = "timeseries", unit = "short", says, lines }: Panel,
  id: number,
  gridPos: Readonly<Record<string, number>>,
) => ({
  id,
  type: kind,
  title,
  description: says,
  datasource: source,
  gridPos,
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: Object.entries(lines).map(([legendFormat, expr], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource: source,
    expr,
    legendFormat,
    ...(kind === "heatmap" ? { format: "heatmap" } : {}),
  })),
})

const dashboardJson = ({ uid, title, linksTo, panels }: Dashboard) => ({
  uid,
  title,
  tags: ["punctual"],
  schemaVersion: 39,
  editable: true,
  time: { from: "now-3h", to: "now" },
  refresh: "30s",
  links: [
    {
      type: "link",
      title: dashboards.find((other) => other.uid === linksTo)?.title,
      url: `/d/${linksTo}`,
      keepTime: true,
      includeVars: true,
    },
  ],
  templating: {
    list: [
      { name: "source", label: "Data source", type: "datasource", query: "prometheus" },
      {
        name: "node",
        label: "Node",
        type: "query",
        datasource: source,
        query: { query: "label_values(timer_owned_shards, instance)", refId: "nodes" },
        includeAll: true,
        allValue: ".*",
        multi: true,
        refresh: 2,
      },
    ],
  },
  panels: placed(panels),
})

/** The files, by their paths from the root of the repository. */
export const dashboardFiles = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    dashboards.map((dashboard) => [
      `deploy/grafana/${dashboard.uid}.json`,
      `${JSON.stringify(dashboardJson(dashboard), null, 2)}\n`,
    ]),
  )

/** Every expression of every panel. */
export const dashboardExpressions = (): ReadonlyArray<string> =>
  dashboards.flatMap(({ panels }) => panels.flatMap(({ lines }) => Object.values(lines)))

if (import.meta.main) {
  for (const [path, text] of Object.entries(dashboardFiles()))
    writeFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), text)
}
