/**
 * The HTTP contract, version 1, in one definition. The server's validation, the OpenAPI document, the reference page
 * and the typed client all come from it. Every call is a POST with its whole request in the JSON body, so that ids need
 * no escaping and never appear in access logs.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdvanceClock, AdvanceClockAnswer, advanceAnswerWithinMs } from "./AdvanceClock.ts"
import { makeAuditGroup } from "./auditGroup.ts"
import { makeBulkGroup } from "./bulkGroup.ts"
import { ClusterAnswer, GetCluster } from "./Cluster.ts"
import { CreateManyTimersAnswer, makeCreateManyTimers } from "./CreateManyTimers.ts"
import { CreateTimerAnswer, makeCreateTimer } from "./CreateTimer.ts"
import { DeleteManyTimers, DeleteManyTimersAnswer } from "./DeleteManyTimers.ts"
import { DeleteTimer, DeleteTimerAnswer } from "./DeleteTimer.ts"
import { describeCall } from "./describeCall.ts"
import { makeEgressGroup } from "./egressGroup.ts"
import { GetTimer, TimerAnswer } from "./GetTimer.ts"
import { makeKeysGroup, sessionsGroup } from "./keysGroup.ts"
import { defaultLimits, type Limits } from "./Limits.ts"
import { listEndpoints } from "./listEndpoints.ts"
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
  EgressRefused,
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

/** The calls that create timers. */
const createEndpoints = (limits: Limits) =>
  [
    HttpApiEndpoint.post("create", "/create", {
      payload: makeCreateTimer(limits),
      success: CreateTimerAnswer,
      error: [...commonProblems, EgressRefused, TimerExists],
    }).annotateMerge(
      describeCall(
        { action: "timers.write" },
        "Create a timer",
        { ...created, payload: { invoice: 4711 } },
        "The service answers when the timer is on stable storage. If a timer with the same id is pending, the new one replaces it unless onExisting says otherwise. After a timeout you can repeat a create with executeAt, if nobody moved or cancelled the timer in between: send the same fields, while the timer is pending or in the history (TIMER_HISTORY_RETENTION). After a cancel, the same create with a future executeAt creates the timer again. A delay counts from the receipt of the request, so a repeat moves the timer.",
      ),
    ),
    HttpApiEndpoint.post("createMany", "/createMany", {
      payload: makeCreateManyTimers(limits),
      success: CreateManyTimersAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.write", bodyLimit: "createManyBodyBytes", checksNamespaces: true },
        "Create many timers",
        {
          timers: [
            { ...created, timerId: "invoice-4712-reminder" },
            { ...reminder, delay: "soon" },
          ],
        },
        `The limit is ${limits.createMany} per call. The service applies the items in order. If one fails, the others are still created.`,
      ),
    ),
  ] as const

/** The calls on one timer by its key, and the cancellation of many. */
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
        "Answers the pending timer. If no timer with this id is pending, it answers the one that finished last.",
      ),
    ),
    HttpApiEndpoint.post("update", "/update", {
      payload: makeUpdateTimer(limits),
      success: UpdateTimerAnswer,
      error: [...commonProblems, EgressRefused, TimerNotFound, RevisionMismatch, TimerInFlight],
    }).annotateMerge(
      describeCall(
        { action: "timers.write" },
        "Change a pending timer",
        { ...key, delay: "1h30m" },
        "A field that is absent stays as it is. null clears a field. The attempts start again from the first.",
      ),
    ),
    HttpApiEndpoint.post("delete", "/delete", {
      payload: DeleteTimer,
      success: DeleteTimerAnswer,
      error: [...commonProblems, TimerNotFound, RevisionMismatch],
    }).annotateMerge(
      describeCall(
        { action: "timers.cancel" },
        "Cancel a timer",
        key,
        "After the result cancelled no attempt starts.",
      ),
    ),
    HttpApiEndpoint.post("deleteMany", "/deleteMany", {
      payload: DeleteManyTimers,
      success: DeleteManyTimersAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.cancel", takesTurns: true, isAudited: true },
        "Cancel many timers",
        { namespace: "billing", filter: { idPrefix: "invoice-4711-" } },
        "Each call handles a limited number of timers. Repeat the call while the answer has more, with its nextCursor as cursor if there is one.",
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
        { action: "dead.replay", takesTurns: true, isAudited: true },
        "Replay dead letters",
        { namespace: "billing", filter: { idPrefix: "invoice-4711-" }, dryRun: true },
        "Each dead letter becomes a pending timer that is due now, with all its attempts. A dead letter is skipped if a timer with its id is pending. With timerId the latest dead letter is replayed. With a filter the oldest are replayed first. Each call handles a limited number of timers. Repeat the call while the answer has more, with its nextCursor as cursor if there is one. Set until to the time when you began, so that timers that die again are not replayed again.",
      ),
    ),
    HttpApiEndpoint.post("discard", "/discard", {
      payload: DiscardTimers,
      success: DiscardTimersAnswer,
      error: [...commonProblems, TimerNotFound],
    }).annotateMerge(
      describeCall(
        { action: "dead.discard", takesTurns: true, isAudited: true },
        "Discard dead letters",
        { namespace: "billing", timerId: "invoice-4711-reminder" },
        "Removes dead letters permanently, with their payloads. Each call handles a limited number of timers. Repeat the call while the answer has more, with its nextCursor as cursor if there is one.",
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
          "Answers the nodes that share the store, and which node fires which shard, as the node that answers sees them.",
        ),
      ),
    )
    .annotateMerge(
      OpenApi.annotations({ title: "Cluster", description: "The nodes of the cluster, for operators." }),
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
          { action: "clock.advance", answerWithinMs: advanceAnswerWithinMs, isAudited: true },
          "Move the clock",
          { by: "31d" },
          "Works only if the service was started with TIMER_CLOCK=manual. Timers that become due on the way fire in order, each at its own instant, including retries and timers that are armed again. The service stores all outcomes before it answers.",
        ),
      ),
    )
    .prefix("/clock")
    .annotateMerge(
      OpenApi.annotations({ title: "Clock", description: "The manual clock of a service under test." }),
    )

const makeNamespacesGroup = (limits: Limits) =>
  HttpApiGroup.make("namespaces")
    .add(
      HttpApiEndpoint.post("put", "/put", {
        payload: makePutNamespace(limits),
        success: PutNamespaceAnswer,
        error: [...commonProblems, EgressRefused],
      }).annotateMerge(
        describeCall(
          { action: "namespaces.write", isAudited: true },
          "Change the settings of a namespace",
          { namespace: "billing", maxPending: 100_000, createsPerSecond: 200 },
          "A field that is left out stays as it is. null sets a field back to its default. The change applies on all nodes within a second. The store seals secrets, and answers show only their fingerprints.",
        ),
      ),
      HttpApiEndpoint.post("get", "/get", {
        payload: GetNamespace,
        success: NamespaceAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "namespaces.read" },
          "Get the settings of a namespace",
          { namespace: "billing" },
          "Answers the settings, and how many pending timers and dead letters the namespace has. A namespace without settings has the defaults.",
        ),
      ),
      HttpApiEndpoint.post("list", "/list", {
        payload: makeListNamespaces(limits),
        success: ListNamespacesAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "namespaces.read", checksNamespaces: true, takesTurns: true },
          "List namespaces",
          { prefix: "bill", limit: 50 },
          "Answers the namespaces that have settings, pending timers, history or dead letters, sorted by name; with prefix only those whose names begin with it. The answer has only namespaces that the key may read.",
        ),
      ),
    )
    .prefix("/namespaces")
    .annotateMerge(OpenApi.annotations({ title: "Namespaces", description: "The settings of namespaces." }))

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
          { settings: true },
          "Answers the time of the service, whether all firing is paused, and which program answers. With settings: true, the answer also has every setting in force on the node that answers, without secrets.",
        ),
      ),
      HttpApiEndpoint.post("pause", "/pause", {
        payload: PauseService,
        success: ServiceAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "service.write", isAudited: true },
          "Stop all firing",
          { reason: "the receivers are being moved" },
          "Stops firing in all namespaces and on all nodes within a second. The pause lasts until resume, also over restarts. The service still accepts timers, and attempts in flight finish. The time of the pause does not count against expireAfter and maxDuration.",
        ),
      ),
      HttpApiEndpoint.post("resume", "/resume", {
        payload: ResumeService,
        success: ServiceAnswer,
        error: [...commonProblems, RestoredFromBackup],
      }).annotateMerge(
        describeCall(
          { action: "service.write", isAudited: true },
          "Resume firing",
          {},
          "Timers that became due during the pause start at once, within the limits of deliveries in flight.",
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
          "Answers the breakers of the node that is asked. Each node has its own breakers.",
        ),
      ),
      HttpApiEndpoint.post("reset", "/reset", {
        payload: ResetBreakers,
        success: ResetBreakersAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "service.write", isAudited: true },
          "Close a host's breakers",
          { host: "hooks.example.com:443" },
          "Closes them on the node that is asked, in all namespaces. Timers that wait for the host start at once.",
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

/** The contract with the limits of an operator. */
export const makePunctualApi = (limits: Limits) =>
  HttpApi.make("punctual")
    .add(
      makeTimersGroup(limits),
      makeBulkGroup(limits),
      clusterGroup(),
      clockGroup(),
      makeNamespacesGroup(limits),
      serviceGroup(),
      breakersGroup(),
      makeEgressGroup(limits),
      makeMessagesGroup(limits),
      makeKeysGroup(limits),
      sessionsGroup(),
      makeAuditGroup(limits),
    )
    .prefix("/api/v1")
    .annotate(HttpApi.PayloadParseOptions, requestParseOptions)
    .annotateMerge(
      OpenApi.annotations({
        title: "Punctual",
        version: "1",
        description:
          "A durable timer service: deliver this payload to that target at time T, at least once, on time. Failures are RFC 9457 problem documents with a code. Each answer has a header x-request-id. A request can give its own: 1 to 128 visible ASCII characters.",
        license: { name: "MIT", identifier: "MIT" },
        servers: [
          { url: ".", description: "The service that answers this document." },
          { url: "http://127.0.0.1:8080", description: "A service with the default settings." },
        ],
        transform: finishDocument,
      }),
    )

export const PunctualApi = makePunctualApi(defaultLimits)
