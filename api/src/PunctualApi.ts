/**
 * The HTTP contract, version 1, in one definition: the server's validation, the OpenAPI document, the
 * reference page and the typed client all come from it. Every call is a POST with its whole request in the
 * JSON body, so that ids need no escaping and never appear in access logs.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdvanceClock, AdvanceClockAnswer, advanceAnswerWithinMs } from "./AdvanceClock.ts"
import { ClusterAnswer, GetCluster } from "./Cluster.ts"
import { CreateManyTimersAnswer, makeCreateManyTimers } from "./CreateManyTimers.ts"
import { CreateTimerAnswer, makeCreateTimer } from "./CreateTimer.ts"
import { DeleteManyTimers, DeleteManyTimersAnswer } from "./DeleteManyTimers.ts"
import { DeleteTimer, DeleteTimerAnswer } from "./DeleteTimer.ts"
import { describeCall } from "./describeCall.ts"
import { GetTimer, TimerAnswer } from "./GetTimer.ts"
import { defaultLimits, type Limits } from "./Limits.ts"
import { CountTimers, CountTimersAnswer, ListTimersAnswer, makeListTimers } from "./ListTimers.ts"
import { makeMessagesGroup } from "./messagesGroup.ts"
import {
  GetNamespace,
  ListNamespacesAnswer,
  makeListNamespaces,
  makePutNamespace,
  NamespaceAnswer,
  PutNamespaceAnswer,
} from "./NamespaceSettings.ts"
import { finishDocument } from "./openApiDocument.ts"
import {
  ClockNotManual,
  commonProblems,
  RestoredFromBackup,
  RevisionMismatch,
  TimerExists,
  TimerInFlight,
  TimerNotFound,
} from "./Problem.ts"
import { DiscardTimers, DiscardTimersAnswer, ReplayTimers, ReplayTimersAnswer } from "./ReplayTimers.ts"
import { requestParseOptions } from "./requestParseOptions.ts"
import {
  GetService,
  ListBreakers,
  ListBreakersAnswer,
  PauseService,
  ResetBreakers,
  ResetBreakersAnswer,
  ResumeService,
  ServiceAnswer,
} from "./Service.ts"
import { makeUpdateTimer, UpdateTimerAnswer } from "./UpdateTimer.ts"

/** Timers that are armed. */
const createEndpoints = (limits: Limits) =>
  [
    HttpApiEndpoint.post("create", "/create", {
      payload: makeCreateTimer(limits),
      success: CreateTimerAnswer,
      error: [...commonProblems, TimerExists],
    }).annotateMerge(
      describeCall(
        { action: "timers.write" },
        "Create a timer",
        { ...created, payload: { invoice: 4711 } },
        "Answered once the timer is on stable storage. Creating a pending key replaces it unless onExisting says otherwise. Repeating a create with an executeAt is always safe; delay counts from receipt.",
      ),
    ),
    HttpApiEndpoint.post("createMany", "/createMany", {
      payload: makeCreateManyTimers(limits),
      success: CreateManyTimersAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.write", bodyLimit: "createManyBodyBytes" },
        "Create many timers",
        {
          timers: [
            { ...created, timerId: "invoice-4712-reminder" },
            { ...reminder, delay: "soon" },
          ],
        },
        `At most ${limits.createMany}, applied in order. One that fails does not spoil the rest.`,
      ),
    ),
  ] as const

/** One timer by its key, and many that are cancelled. */
const keyEndpoints = (limits: Limits) =>
  [
    HttpApiEndpoint.post("get", "/get", {
      payload: GetTimer,
      success: TimerAnswer,
      error: [...commonProblems, TimerNotFound],
    }).annotateMerge(
      describeCall(
        { action: "timers.read" },
        "Get a timer",
        key,
        "The pending life of a key, else the last finished one.",
      ),
    ),
    HttpApiEndpoint.post("update", "/update", {
      payload: makeUpdateTimer(limits),
      success: UpdateTimerAnswer,
      error: [...commonProblems, TimerNotFound, RevisionMismatch, TimerInFlight],
    }).annotateMerge(
      describeCall(
        { action: "timers.write" },
        "Change a pending timer",
        { ...key, delay: "1h30m" },
        "Absent keeps, null clears. Its attempts start anew.",
      ),
    ),
    HttpApiEndpoint.post("delete", "/delete", {
      payload: DeleteTimer,
      success: DeleteTimerAnswer,
      error: [...commonProblems, TimerNotFound, RevisionMismatch],
    }).annotateMerge(
      describeCall({ action: "timers.cancel" }, "Cancel a timer", key, "After cancelled no attempt starts."),
    ),
    HttpApiEndpoint.post("deleteMany", "/deleteMany", {
      payload: DeleteManyTimers,
      success: DeleteManyTimersAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.cancel" },
        "Cancel many timers",
        { namespace: "billing", filter: { idPrefix: "invoice-4711-" } },
        "In bounded batches: repeat the call while the answer says more, with its nextCursor as cursor if it has one.",
      ),
    ),
  ] as const

/** Timers that a filter selects. */
const listEndpoints = (limits: Limits) =>
  [
    HttpApiEndpoint.post("list", "/list", {
      payload: makeListTimers(limits),
      success: ListTimersAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.read" },
        "List timers",
        { namespace: "billing", until: "2030-02-01T00:00:00Z", limit: 50 },
        "One page of one namespace or of several. A timer that does not change during the walk appears exactly once. A page may be short or empty and still have a nextCursor.",
      ),
    ),
    HttpApiEndpoint.post("count", "/count", {
      payload: CountTimers,
      success: CountTimersAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.read" },
        "Count timers",
        { namespace: "billing", state: "dead" },
        "Counting stops at a bound, and the answer says so by capped.",
      ),
    ),
  ] as const

/** Timers that could not be delivered. */
const deadLetterEndpoints = () =>
  [
    HttpApiEndpoint.post("replay", "/replay", {
      payload: ReplayTimers,
      success: ReplayTimersAnswer,
      error: [...commonProblems, TimerNotFound],
    }).annotateMerge(
      describeCall(
        { action: "dead.replay" },
        "Replay dead letters",
        { namespace: "billing", filter: { idPrefix: "invoice-4711-" }, dryRun: true },
        "Each is armed for now, its attempts anew, and is no dead letter any more; one whose key is pending is skipped. Of a timerId the latest is replayed, of filters those that died first come first. In bounded batches: repeat the call while the answer says more, with its nextCursor as cursor if it has one, and with until set to when you began if they may die again meanwhile.",
      ),
    ),
    HttpApiEndpoint.post("discard", "/discard", {
      payload: DiscardTimers,
      success: DiscardTimersAnswer,
      error: [...commonProblems, TimerNotFound],
    }).annotateMerge(
      describeCall(
        { action: "dead.discard" },
        "Discard dead letters",
        { namespace: "billing", timerId: "invoice-4711-reminder" },
        "They are removed for good, payload and all. In bounded batches: repeat the call while the answer says more, with its nextCursor as cursor if it has one.",
      ),
    ),
  ] as const

const makeTimersGroup = (limits: Limits) =>
  HttpApiGroup.make("timers")
    .add(
      ...createEndpoints(limits),
      ...keyEndpoints(limits),
      ...listEndpoints(limits),
      ...deadLetterEndpoints(),
    )
    .prefix("/timers")
    .annotateMerge(
      OpenApi.annotations({ title: "Timers", description: "Create, read, change and cancel timers." }),
    )

const clusterGroup = () =>
  HttpApiGroup.make("cluster")
    .add(
      HttpApiEndpoint.post("cluster", "/cluster", {
        payload: GetCluster,
        success: ClusterAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          // Operators need this answer most when the service waits or stops.
          { action: "service.read", answersWhenClosed: true },
          "Show the cluster",
          {},
          "The nodes that share the store, and who fires which shard, as the node that is asked sees it.",
        ),
      ),
    )
    .annotateMerge(
      OpenApi.annotations({ title: "Cluster", description: "What operators see of several nodes." }),
    )

const clockGroup = () =>
  HttpApiGroup.make("clock")
    .add(
      HttpApiEndpoint.post("advance", "/advance", {
        payload: AdvanceClock,
        success: AdvanceClockAnswer,
        error: [...commonProblems, ClockNotManual],
      }).annotateMerge(
        describeCall(
          { action: "clock.advance", answerWithinMs: advanceAnswerWithinMs },
          "Move the clock",
          { by: "31d" },
          "Only where the service was started with TIMER_CLOCK=manual. Everything that comes due on the way is fired at its own instant, in order, retries and re-armed timers included, and stored before the answer.",
        ),
      ),
    )
    .prefix("/clock")
    .annotateMerge(
      OpenApi.annotations({ title: "Clock", description: "Time, for those who test against the service." }),
    )

const makeNamespacesGroup = (limits: Limits) =>
  HttpApiGroup.make("namespaces")
    .add(
      HttpApiEndpoint.post("put", "/put", {
        payload: makePutNamespace(limits),
        success: PutNamespaceAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "namespaces.write" },
          "Set a namespace's terms",
          { namespace: "billing", maxPending: 100_000, createsPerSecond: 200 },
          "What is left out stays as it is, null resets it. In force on all nodes within a second. Secrets are stored sealed, and shown by their fingerprints only.",
        ),
      ),
      HttpApiEndpoint.post("get", "/get", {
        payload: GetNamespace,
        success: NamespaceAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "namespaces.read" },
          "Get a namespace's terms",
          { namespace: "billing" },
          "What was set for it, and how many pending timers and dead letters it has. One that was never set has the defaults.",
        ),
      ),
      HttpApiEndpoint.post("list", "/list", {
        payload: makeListNamespaces(limits),
        success: ListNamespacesAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "namespaces.read" },
          "List namespaces",
          { limit: 50 },
          "Those that have settings, pending timers, history or dead letters, by name.",
        ),
      ),
    )
    .prefix("/namespaces")
    .annotateMerge(
      OpenApi.annotations({ title: "Namespaces", description: "What operators set for a tenant." }),
    )

const serviceGroup = () =>
  HttpApiGroup.make("service")
    .add(
      HttpApiEndpoint.post("get", "/get", {
        payload: GetService,
        success: ServiceAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "service.read" },
          "Show the service",
          {},
          "Its time, and whether its firing is stopped.",
        ),
      ),
      HttpApiEndpoint.post("pause", "/pause", {
        payload: PauseService,
        success: ServiceAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "service.write" },
          "Stop all firing",
          { reason: "the receivers are being moved" },
          "In all namespaces and on all nodes, within a second, until it is resumed, restarts included. Timers are accepted all the same, and attempts that run may finish. That time does not count against timers.",
        ),
      ),
      HttpApiEndpoint.post("resume", "/resume", {
        payload: ResumeService,
        success: ServiceAnswer,
        error: [...commonProblems, RestoredFromBackup],
      }).annotateMerge(
        describeCall(
          { action: "service.write" },
          "Fire again",
          {},
          "What fell due meanwhile starts at once, within the bounds in flight.",
        ),
      ),
    )
    .prefix("/service")
    .annotateMerge(OpenApi.annotations({ title: "Service", description: "The service as a whole." }))

const breakersGroup = () =>
  HttpApiGroup.make("breakers")
    .add(
      HttpApiEndpoint.post("list", "/list", {
        payload: ListBreakers,
        success: ListBreakersAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "service.read" },
          "List open breakers",
          {},
          "Of the node that is asked: every node has breakers of its own.",
        ),
      ),
      HttpApiEndpoint.post("reset", "/reset", {
        payload: ResetBreakers,
        success: ResetBreakersAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "service.write" },
          "Close a host's breakers",
          { host: "hooks.example.com:443" },
          "On the node that is asked, in all namespaces: what waits for the host starts at once.",
        ),
      ),
    )
    .prefix("/breakers")
    .annotateMerge(
      OpenApi.annotations({ title: "Breakers", description: "Hosts that failed too often in a row." }),
    )

const key = { namespace: "billing", timerId: "invoice-4711-reminder" }
const reminder = { namespace: "billing", callbackUrl: "https://example.com/hooks/timer" }
const created = { ...key, executeAt: "2030-01-01T09:00:00Z", callbackUrl: "https://example.com/hooks/timer" }

/** The contract under an operator's own limits. */
export const makePunctualApi = (limits: Limits) =>
  HttpApi.make("punctual")
    .add(
      makeTimersGroup(limits),
      clusterGroup(),
      clockGroup(),
      makeNamespacesGroup(limits),
      serviceGroup(),
      breakersGroup(),
      makeMessagesGroup(limits),
    )
    .prefix("/api/v1")
    .annotate(HttpApi.PayloadParseOptions, requestParseOptions)
    .annotateMerge(
      OpenApi.annotations({
        title: "Punctual",
        version: "1",
        description:
          "A durable timer service: deliver this payload to that target at time T, at least once, on time. Failures are RFC 9457 problem documents with a code.",
        license: { name: "MIT", identifier: "MIT" },
        servers: [
          { url: ".", description: "The service that answers this document." },
          { url: "http://127.0.0.1:8080", description: "A service with the default settings." },
        ],
        transform: finishDocument,
      }),
    )

export const PunctualApi = makePunctualApi(defaultLimits)
