/**
 * Requests and answers of the calls for operators. The names are those of the OpenAPI document, and a test compares
 * them. Instants in answers are text in UTC with milliseconds.
 */
import type {
  Duration,
  InstantInput,
  NamespaceScope,
  OnDead,
  RetryPolicyInput,
  TimerFilter,
} from "./requests.ts"
import type { EventTarget, RetryPolicy, RetryWaits, WebhookTarget } from "./timers.ts"

/** Where a list begins, and how long its pages are. */
export interface PageRequest {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

// --- Bulk jobs ---

/** What a job does with the timers. */
export type BulkDeed = "replay" | "discard" | "cancel"

/** The timers of a job. Without other fields: all timers of the namespaces. */
export interface BulkFilterInput extends NamespaceScope, TimerFilter {}

/** A job to start. */
export interface StartBulk {
  readonly do: BulkDeed
  readonly filter: BulkFilterInput
  /** Why, for the audit trail. */
  readonly reason: string
  /** How many timers in a second: 500 when left out, at most 5,000. */
  readonly perSecond?: number | undefined
  /** The count of the same filter. If over 10 % more timers match, the job does not start. */
  readonly expect: number
}

/** One job. */
export interface GetBulk {
  readonly jobId: string
}

/** The job to stop. */
export interface AbortBulk extends GetBulk {}

/** Which jobs to list. */
export interface ListBulk extends PageRequest {}

/** The filter of a job, as it was given. */
export interface BulkFilter extends NamespaceScope, TimerFilter {
  readonly from?: string
  readonly until?: string
}

/** What a job has done so far. */
export interface BulkDone {
  readonly replayed?: number
  readonly discarded?: number
  readonly cancelled?: number
  readonly inFlight?: number
  readonly skipped?: number
}

/** Who started a job. */
export interface BulkStarter {
  readonly caller: string
  readonly keyId?: string
}

/** A job on many timers. */
export interface BulkJob {
  readonly jobId: string
  readonly do: BulkDeed
  readonly filter: BulkFilter
  readonly reason: string
  readonly perSecond: number
  readonly expect: number
  readonly capped?: true
  readonly state: "running" | "done" | "aborted" | "failed"
  readonly startedBy: BulkStarter
  readonly startedAt: string
  readonly finishedAt?: string
  readonly done: BulkDone
  readonly examined: number
  /** Why the job failed; or, while it runs, why it waits. */
  readonly problem?: string
}

/** One job. */
export interface BulkAnswer {
  readonly job: BulkJob
}

/** One page of jobs, newest first. */
export interface ListBulkAnswer {
  readonly jobs: ReadonlyArray<BulkJob>
  readonly nextCursor?: string
}

// --- Namespaces ---

/** A secret that stays, by its fingerprint. */
export interface KeptSecret {
  readonly fingerprint: string
}

/** A new secret, or one that stays. */
export type WebhookSecretInput = string | KeptSecret

/** Settings to change. A field that is absent stays as it is; null sets it back to its default. */
export interface PutNamespace {
  readonly namespace?: string | undefined
  /** At most two. */
  readonly webhookSecrets?: ReadonlyArray<WebhookSecretInput> | null | undefined
  readonly retryPolicy?: RetryPolicyInput | null | undefined
  readonly onDead?: OnDead | null | undefined
  readonly maxInFlight?: number | null | undefined
  readonly maxPending?: number | null | undefined
  readonly createsPerSecond?: number | null | undefined
  readonly paused?: boolean | null | undefined
  /** Why. Only together with `paused: true`. */
  readonly pauseReason?: string | undefined
}

/** One namespace. */
export interface GetNamespace {
  readonly namespace?: string | undefined
}

/** Which namespaces to list. */
export interface ListNamespaces extends PageRequest {
  readonly prefix?: string | undefined
}

/** A secret, as answers show it. */
export interface SecretFingerprint {
  readonly fingerprint: string
}

/** The settings of a namespace. */
export interface NamespaceSettings {
  readonly namespace: string
  readonly webhookSecrets: ReadonlyArray<SecretFingerprint>
  readonly retryPolicy?: RetryPolicy | RetryWaits
  readonly onDead?: WebhookTarget | EventTarget
  readonly maxInFlight?: number
  readonly maxPending?: number
  readonly createsPerSecond?: number
  readonly paused: boolean
  readonly pausedSince?: string
  readonly pauseReason?: string
  readonly updatedAt?: string
}

/** A count with a limit. */
export interface CappedCount {
  readonly count: number
  readonly capped: boolean
}

/** The settings of a namespace, and how many timers it has. */
export interface NamespaceView extends NamespaceSettings {
  readonly pending: CappedCount
  readonly dead: CappedCount
}

/** The service made a key to seal secrets with. Back up the file. */
export interface MadeSealingKey {
  readonly file: string
}

/** The settings after the change. */
export interface PutNamespaceAnswer {
  readonly settings: NamespaceSettings
  readonly madeSealingKey?: MadeSealingKey
}

/** One namespace. */
export interface NamespaceAnswer {
  readonly settings: NamespaceView
}

/** One page of namespaces, by name. */
export interface ListNamespacesAnswer {
  readonly namespaces: ReadonlyArray<NamespaceView>
  readonly nextCursor?: string
}

// --- The service, its hosts and its nodes ---

/** What to show of the service. */
export interface GetService {
  readonly settings?: true | undefined
}

/** Why firing stops. */
export interface PauseService {
  readonly reason?: string | undefined
}

/** How firing resumes. After a restore, `fireOverdue` must be given. */
export interface ResumeService {
  readonly fireOverdue?: true | undefined
}

/** Since when firing is paused, and why. */
export interface Pause {
  readonly since: string
  readonly kind: "asked" | "restored"
  readonly reason?: string
}

/** The program that answers. */
export interface ServiceBuild {
  readonly version: string
  readonly commit?: string
  readonly builtAt?: string
}

/** A setting in force. */
export interface SettingInForce {
  readonly name: string
  readonly value: string
  readonly isSet: boolean
}

/** The service: its time, its pause, its program. */
export interface ServiceAnswer {
  readonly now: string
  readonly pause?: Pause
  readonly build?: ServiceBuild
  readonly settings?: ReadonlyArray<SettingInForce>
}

/** A host that failed too often in a row. */
export interface Breaker {
  readonly host: string
  readonly namespace: string
  readonly failures: number
  readonly waiting: number
  readonly probeInMs: number
}

/** The open breakers of the node that answers. */
export interface ListBreakersAnswer {
  readonly node: string
  readonly breakers: ReadonlyArray<Breaker>
  readonly more?: true
}

/** The host to try again. */
export interface ResetBreakers {
  readonly host: string
}

/** How many breakers were closed. */
export interface ResetBreakersAnswer {
  readonly node: string
  readonly reset: number
}

/** A URL that a timer might call. */
export interface CheckEgress {
  readonly url: string
}

/** Whether the service may call one address. */
export interface JudgedAddress {
  readonly address: string
  readonly allowed: boolean
  readonly entry?: string
}

/** Whether the service may call a URL, and why. */
export interface CheckEgressAnswer {
  readonly allowed: boolean
  readonly verdict: "allowed" | "refused" | "unknown"
  readonly entry?: string
  readonly reason: string
  readonly addresses: ReadonlyArray<JudgedAddress>
}

/** One node of the cluster. */
export interface ClusterNode {
  readonly node: string
  readonly address: string
  readonly isLive: boolean
  readonly isLeaving: boolean
  readonly heartbeatAgeMs: number
  readonly shards: number
}

/** One shard, and who fires it. */
export interface ClusterShard {
  readonly shard: number
  readonly owner?: string
  readonly epoch: number
  readonly lagMs?: number
}

/** The nodes and shards, as the node that answers sees them. */
export interface ClusterAnswer {
  readonly node: string
  readonly nodes: ReadonlyArray<ClusterNode>
  readonly shards: ReadonlyArray<ClusterShard>
  readonly clockOffsetMs?: number
}

/** How far to move a manual clock: `by` a duration, or `to` an instant. */
export interface AdvanceClock {
  readonly by?: Duration | undefined
  readonly to?: InstantInput | undefined
  readonly maxFirings?: number | undefined
}

/** The new time, and how many timers fired on the way. */
export interface AdvanceClockAnswer {
  readonly now: string
  readonly fired: number
  readonly more?: true
}
