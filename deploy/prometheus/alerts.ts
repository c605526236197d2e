// Every alert: its expression, what an operator should know, and series for which it fires and stays silent. The rules,
// their tests and the runbooks are made from this file (makeAlerts.ts), so that they cannot differ.

/** A series of a test: its name with labels, and its values every 15 s in the notation of promtool. */
export type TestSeries = Readonly<Record<string, string>>

export interface Alert {
  readonly name: string
  readonly expr: string
  /** How long the expression must hold. */
  readonly for: string
  readonly severity: "critical" | "warning"
  readonly summary: string
  readonly meaning: string
  readonly firstLook: ReadonlyArray<string>
  readonly causes: ReadonlyArray<string>
  readonly whatToDo: ReadonlyArray<string>
  /** Series for which the alert fires in the end. */
  readonly fires: TestSeries
  /** Series for which it never fires. */
  readonly silent: TestSeries
}

const always = (value: number): string => `${value}x480`
const growing = (step: number): string => `0+${step}x480`
const node = 'job="punctual",instance="a"'

export const alerts: ReadonlyArray<Alert> = [
  {
    name: "PunctualDown",
    expr: 'up{job=~".*punctual.*"} == 0',
    for: "1m",
    severity: "critical",
    summary: "Prometheus cannot read the metrics of {{ $labels.instance }}.",
    meaning:
      "The node does not answer on /metrics, or it refuses the key of Prometheus. A node that has ended fires nothing. In a cluster, other nodes take over its timers within seconds.",
    firstLook: ["`punctual health --url URL`", "the log of the process, and why it ended"],
    causes: [
      "The process has ended, or the machine has.",
      "The key of Prometheus is revoked or expired: /metrics then answers 401.",
      "A firewall or a network policy blocks Prometheus.",
    ],
    whatToDo: [
      "Start the process again. Its timers are on the disk; overdue timers fire at once.",
      "If /metrics answers 401, give Prometheus a key with the action `metrics.read`.",
    ],
    fires: { [`up{${node}}`]: always(0) },
    silent: { [`up{${node}}`]: always(1) },
  },
  {
    name: "PunctualTimersLate",
    expr: "histogram_quantile(0.99, sum by (le) (rate(timer_lateness_seconds_bucket[5m]))) > 1",
    for: "5m",
    severity: "critical",
    summary: "99 of 100 timers were up to {{ $value | humanizeDuration }} late in the last 5 minutes.",
    meaning: "First attempts start late. The promise of the service is at risk in every namespace.",
    firstLook: [
      "`timer_thread_stall_seconds`: is the thread held?",
      "`timer_ready` and `timer_in_flight`: do timers wait for a place?",
      "`punctual watch`: which namespace has the backlog?",
    ],
    causes: [
      "Receivers are slow, and all places for attempts are taken.",
      "The machine has too little CPU, or the disk is slow.",
      "The service has just recovered from a stop, and fires overdue timers.",
    ],
    whatToDo: [
      "After a stop, wait: the backlog shrinks by itself.",
      "If receivers are slow, look at `punctual breakers list`, and fix the receiver or raise `TIMER_MAX_IN_FLIGHT`.",
      "If the thread is held, give the machine more CPU.",
    ],
    fires: {
      'timer_lateness_seconds_bucket{le="1"}': growing(0),
      'timer_lateness_seconds_bucket{le="5"}': growing(150),
      'timer_lateness_seconds_bucket{le="+Inf"}': growing(150),
    },
    silent: {
      'timer_lateness_seconds_bucket{le="1"}': growing(150),
      'timer_lateness_seconds_bucket{le="5"}': growing(150),
      'timer_lateness_seconds_bucket{le="+Inf"}': growing(150),
    },
  },
  {
    name: "PunctualOldTimersWait",
    expr: "max(timer_oldest_due_age_seconds) > 60",
    for: "5m",
    severity: "warning",
    summary: "A due timer has waited for {{ $value | humanizeDuration }}.",
    meaning: "A timer is due and has not finished. Others may be on time.",
    firstLook: ["`punctual watch`", "`punctual explain NAMESPACE ID` for a timer that waits"],
    causes: [
      "A receiver is down or slow.",
      "A namespace has more due timers than its places allow.",
      "The egress rules refuse the address: see the alert PunctualEgressRefused.",
    ],
    whatToDo: ["`punctual explain` says why a timer waits. Fix that cause."],
    fires: { [`timer_oldest_due_age_seconds{${node}}`]: always(90) },
    silent: { [`timer_oldest_due_age_seconds{${node}}`]: always(5) },
  },
  {
    name: "PunctualTimersDead",
    expr: 'sum(increase(timer_deliveries_total{outcome="dead"}[10m])) > 0',
    for: "0m",
    severity: "warning",
    summary: "{{ $value | humanize }} timers became dead letters in the last 10 minutes.",
    meaning:
      "These timers used all their attempts, or their receivers refused them. They are kept, and wait for a person.",
    firstLook: ["`punctual dead list NAMESPACE`, or Dead letters in the console"],
    causes: ["The receiver is broken or was moved.", "The receiver answers 410 or 422 on purpose."],
    whatToDo: [
      "Fix the receiver, then `punctual dead replay NAMESPACE --all`.",
      "If nobody needs them: `punctual dead discard`, with a reason.",
    ],
    fires: { 'timer_deliveries_total{outcome="dead"}': growing(1) },
    silent: {
      'timer_deliveries_total{outcome="dead"}': always(7),
      'timer_deliveries_total{outcome="delivered"}': growing(9),
    },
  },
  {
    name: "PunctualSweepRescued",
    expr: "sum(increase(timer_sweep_rescued_total[10m])) > 0 unless on() (sum(increase(timer_ownership_changes_total[15m])) > 0)",
    for: "0m",
    severity: "warning",
    summary: "Only the sweep found {{ $value | humanize }} due timers.",
    meaning:
      "The window in memory missed timers that it should have held. They fired, but late by up to one polling interval. Without a change of owners this is a defect.",
    firstLook: ["the log around that time", "whether a node was stopped, killed or started"],
    causes: ["A defect of Punctual."],
    whatToDo: ["Please report it, with the log and the metrics of that time."],
    fires: { timer_sweep_rescued_total: growing(1), timer_ownership_changes_total: always(16) },
    silent: { timer_sweep_rescued_total: growing(1), timer_ownership_changes_total: growing(1) },
  },
  {
    name: "PunctualShardsWithoutOwner",
    expr: "sum(timer_owned_shards) < max_over_time(sum(timer_owned_shards)[1h:1m])",
    for: "1m",
    severity: "critical",
    summary: "Only {{ $value }} shards have an owner.",
    meaning: "The timers of the other shards do not fire until a node claims the shards.",
    firstLook: ["`punctual cluster`", "whether the nodes reach the database and each other"],
    causes: [
      "Nodes are down, and the others cannot reach the database.",
      "Two clocks or a network partition keep nodes from claiming.",
    ],
    whatToDo: [
      "Start the missing nodes, or fix their connection to the database. The nodes then claim the shards by themselves.",
    ],
    fires: { [`timer_owned_shards{${node}}`]: "16x100 8x380" },
    silent: { [`timer_owned_shards{${node}}`]: always(16) },
  },
  {
    name: "PunctualLoopStalled",
    expr: "max by (instance, loop) (timer_loop_progress_age_seconds) > 10",
    for: "1m",
    severity: "critical",
    summary:
      "The loop {{ $labels.loop }} of {{ $labels.instance }} has made no progress for {{ $value | humanizeDuration }}.",
    meaning:
      "A part of the engine is stuck. /health/live reports it after a minute, and a supervisor should restart the process.",
    firstLook: ["`punctual health --live`", "the log", "the CPU and the disk of the machine"],
    causes: ["The database or the disk does not answer.", "The machine is out of CPU or memory."],
    whatToDo: ["Fix the database or the disk.", "If nothing explains it, restart the process and report it."],
    fires: { [`timer_loop_progress_age_seconds{${node},loop="window"}`]: always(40) },
    silent: { [`timer_loop_progress_age_seconds{${node},loop="window"}`]: always(1) },
  },
  {
    name: "PunctualThreadHeld",
    expr: 'sum by (instance) (increase(timer_thread_stall_seconds_count[5m])) - sum by (instance) (increase(timer_thread_stall_seconds_bucket{le="0.05"}[5m])) > 25',
    for: "5m",
    severity: "warning",
    summary:
      "The thread on which timers fire was held for more than 50 ms {{ $value | humanize }} times in 5 minutes.",
    meaning: "While the thread is held, no timer fires.",
    firstLook: ["the CPU of the machine", "the log: it names large calls"],
    causes: ["The machine has too little CPU, or shares it with others.", "Large requests."],
    whatToDo: ["Give the process one CPU of its own.", "Find the caller that sends large requests."],
    fires: {
      [`timer_thread_stall_seconds_count{${node}}`]: growing(5),
      [`timer_thread_stall_seconds_bucket{${node},le="0.05"}`]: growing(1),
    },
    silent: {
      [`timer_thread_stall_seconds_count{${node}}`]: growing(5),
      [`timer_thread_stall_seconds_bucket{${node},le="0.05"}`]: growing(5),
    },
  },
  {
    name: "PunctualBreakerOpen",
    expr: "max(timer_open_breakers) > 0",
    for: "5m",
    severity: "warning",
    summary: "{{ $value }} hosts get no calls for now.",
    meaning:
      "These hosts failed again and again. Their timers wait, and each host is tried from time to time.",
    firstLook: ["`punctual breakers list`"],
    causes: ["The receiver is down, or refuses connections."],
    whatToDo: [
      "Fix the receiver. The breaker closes by itself; `punctual breakers reset HOST` closes it at once.",
    ],
    fires: { [`timer_open_breakers{${node}}`]: always(1) },
    silent: { [`timer_open_breakers{${node}}`]: "0x40 1x8 0x430" },
  },
  {
    name: "PunctualEgressRefused",
    expr: "max(timer_egress_refused_timers) > 0",
    for: "5m",
    severity: "warning",
    summary: "{{ $value }} timers wait because TIMER_EGRESS refuses their addresses.",
    meaning: "The timers stay pending, use no attempt, and are judged again every 5 minutes.",
    firstLook: ["`punctual doctor`", "`punctual egress check URL`"],
    causes: ["`TIMER_EGRESS` was made stricter.", "A name now resolves to another address."],
    whatToDo: ["Allow the address in `TIMER_EGRESS`, or cancel the timers."],
    fires: { [`timer_egress_refused_timers{${node}}`]: always(3) },
    silent: { [`timer_egress_refused_timers{${node}}`]: always(0) },
  },
  {
    name: "PunctualFiringPaused",
    expr: "max(timer_service_paused) > 0",
    for: "30m",
    severity: "warning",
    summary: "All firing has been paused for 30 minutes.",
    meaning:
      "The service takes timers, but fires none. Somebody paused it, or it was restored from a backup.",
    firstLook: ["`punctual status`"],
    causes: ["`punctual pause`.", "A restore from a backup: it waits for a person."],
    whatToDo: ["`punctual resume`. After a restore, read the guide of backups first."],
    fires: { [`timer_service_paused{${node}}`]: always(1) },
    silent: { [`timer_service_paused{${node}}`]: "0x20 1x60 0x400" },
  },
  {
    name: "PunctualRowsUnreadable",
    expr: "max by (what) (timer_store_unreadable) > 0",
    for: "0m",
    severity: "critical",
    summary: "{{ $value }} rows of the store ({{ $labels.what }}) cannot be read.",
    meaning: "Unreadable timers do not fire. The rows are kept, and all others work.",
    firstLook: ["`punctual doctor`: it names the rows"],
    causes: ["A damaged disk.", "Somebody changed rows by hand.", "A newer version wrote them."],
    whatToDo: ['Follow the guide to operate, section "When a row cannot be read".'],
    fires: { 'timer_store_unreadable{what="timers"}': always(1) },
    silent: { 'timer_store_unreadable{what="timers"}': always(0) },
  },
  {
    name: "PunctualSecretsSealed",
    expr: "max(timer_sealed_namespaces) > 0",
    for: "1m",
    severity: "critical",
    summary: "The secrets of {{ $value }} namespaces cannot be opened.",
    meaning: "Their webhooks wait, because they cannot be signed.",
    firstLook: ["the log: it names the setting or the file of the key"],
    causes: [
      "`TIMER_SECRET_KEY` is missing or wrong.",
      "The file of the key was not restored with the store.",
    ],
    whatToDo: ["Give the service the key that sealed the secrets."],
    fires: { [`timer_sealed_namespaces{${node}}`]: always(2) },
    silent: { [`timer_sealed_namespaces{${node}}`]: always(0) },
  },
  {
    name: "PunctualClockOff",
    expr: "max by (instance) (abs(timer_clock_offset_seconds)) > 0.5",
    for: "5m",
    severity: "warning",
    summary:
      "The clock of {{ $labels.instance }} differs from the database's by {{ $value | humanizeDuration }}.",
    meaning: "A node fires by its own clock. A wrong clock makes its timers late or early by this much.",
    firstLook: ["`timedatectl`, or the time service of the machine"],
    causes: ["The time service does not run, or cannot reach its server."],
    whatToDo: ["Fix the time service. Nothing else is needed."],
    fires: { [`timer_clock_offset_seconds{${node}}`]: always(-2) },
    silent: { [`timer_clock_offset_seconds{${node}}`]: always(0.01) },
  },
  {
    name: "PunctualErrorsAnswered",
    expr: 'sum(rate(timer_http_requests_total{status="5xx"}[5m])) / sum(rate(timer_http_requests_total[5m])) > 0.01',
    for: "5m",
    severity: "warning",
    summary: "{{ $value | humanizePercentage }} of all requests got an error of the service.",
    meaning: "Callers get 5xx. Most are 503: the service cannot serve now, and says when to try again.",
    firstLook: ["`punctual health`", "the log"],
    causes: [
      "The store is away or slow.",
      "The node starts, stops or waits for shards.",
      "All places for calls are taken.",
    ],
    whatToDo: ["Fix the store. Callers that use a client library try again by themselves."],
    fires: {
      'timer_http_requests_total{route="/timers/create",status="5xx"}': growing(5),
      'timer_http_requests_total{route="/timers/create",status="2xx"}': growing(95),
    },
    silent: {
      'timer_http_requests_total{route="/timers/create",status="5xx"}': always(5),
      'timer_http_requests_total{route="/timers/create",status="2xx"}': growing(95),
    },
  },
  {
    name: "PunctualCertificateExpires",
    expr: "min(timer_tls_certificate_expiry_seconds) - time() < 14 * 24 * 3600",
    for: "1h",
    severity: "warning",
    summary: "The certificate of the service expires in {{ $value | humanizeDuration }}.",
    meaning: "After that, clients refuse to connect.",
    firstLook: ["the file that `TIMER_TLS_CERT_FILE` names"],
    causes: ["Nobody renewed the certificate, or the new file is at another place."],
    whatToDo: ["Put the new certificate into the same file. The service reads it again by itself."],
    fires: { timer_tls_certificate_expiry_seconds: always(1_000_000) },
    silent: { timer_tls_certificate_expiry_seconds: always(100_000_000) },
  },
]
