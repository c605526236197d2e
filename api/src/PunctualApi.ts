/**
 * The HTTP contract, version 1, in one definition: the server's validation, the OpenAPI document, the
 * reference page and the typed client all come from it. Every call is a POST with its whole request in the
 * JSON body, so that ids need no escaping and never appear in access logs.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdvanceClock, AdvanceClockAnswer } from "./AdvanceClock.ts"
import { ClusterAnswer, GetCluster } from "./Cluster.ts"
import { CreateManyTimersAnswer, makeCreateManyTimers } from "./CreateManyTimers.ts"
import { CreateTimerAnswer, makeCreateTimer } from "./CreateTimer.ts"
import { DeleteManyTimers, DeleteManyTimersAnswer } from "./DeleteManyTimers.ts"
import { DeleteTimer, DeleteTimerAnswer } from "./DeleteTimer.ts"
import { GetTimer, TimerAnswer } from "./GetTimer.ts"
import { defaultLimits, type Limits } from "./Limits.ts"
import { CountTimers, CountTimersAnswer, ListTimersAnswer, makeListTimers } from "./ListTimers.ts"
import {
  DiscardMessage,
  DiscardMessageAnswer,
  GetMessage,
  ListMessagesAnswer,
  MessageAnswer,
  makeListMessages,
  ReplayMessage,
  ReplayMessageAnswer,
} from "./Messages.ts"
import {
  GetNamespace,
  ListNamespacesAnswer,
  makeListNamespaces,
  makePutNamespace,
  NamespaceAnswer,
  PutNamespaceAnswer,
} from "./NamespaceSettings.ts"
import { finishDocument, finishOperation } from "./openApiDocument.ts"
import {
  BrokerUnavailable,
  ClockNotManual,
  commonProblems,
  MessageNotFound,
  MessageRefusedByBus,
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
import { makeUpdateTimer } from "./UpdateTimer.ts"

const makeTimersGroup = (limits: Limits) =>
  HttpApiGroup.make("timers")
    .add(
      HttpApiEndpoint.post("create", "/create", {
        payload: makeCreateTimer(limits),
        success: CreateTimerAnswer,
        error: [...commonProblems, TimerExists],
      }).annotateMerge(
        describe(
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
        describe(
          "Create many timers",
          { timers: [created] },
          `At most ${limits.createMany}, applied in order. One that fails does not spoil the rest.`,
        ),
      ),
      HttpApiEndpoint.post("get", "/get", {
        payload: GetTimer,
        success: TimerAnswer,
        error: [...commonProblems, TimerNotFound],
      }).annotateMerge(
        describe("Get a timer", key, "The pending life of a key, else the last finished one."),
      ),
      HttpApiEndpoint.post("update", "/update", {
        payload: makeUpdateTimer(limits),
        success: TimerAnswer,
        error: [...commonProblems, TimerNotFound, RevisionMismatch, TimerInFlight],
      }).annotateMerge(
        describe(
          "Change a pending timer",
          { ...key, delay: "1h30m" },
          "Absent keeps, null clears. Its attempts start anew.",
        ),
      ),
      HttpApiEndpoint.post("delete", "/delete", {
        payload: DeleteTimer,
        success: DeleteTimerAnswer,
        error: [...commonProblems, TimerNotFound, RevisionMismatch],
      }).annotateMerge(describe("Cancel a timer", key, "After cancelled no attempt starts.")),
      HttpApiEndpoint.post("deleteMany", "/deleteMany", {
        payload: DeleteManyTimers,
        success: DeleteManyTimersAnswer,
        error: commonProblems,
      }).annotateMerge(
        describe(
          "Cancel many timers",
          { namespace: "billing", filter: { idPrefix: "invoice-4711-" } },
          "In bounded batches: repeat the call while the answer says more.",
        ),
      ),
      HttpApiEndpoint.post("list", "/list", {
        payload: makeListTimers(limits),
        success: ListTimersAnswer,
        error: commonProblems,
      }).annotateMerge(
        describe(
          "List timers",
          { namespace: "billing", until: "2030-02-01T00:00:00Z", limit: 50 },
          "A timer that does not change during the walk appears exactly once.",
        ),
      ),
      HttpApiEndpoint.post("count", "/count", {
        payload: CountTimers,
        success: CountTimersAnswer,
        error: commonProblems,
      }).annotateMerge(
        describe(
          "Count timers",
          { namespace: "billing", state: "dead" },
          "Counting stops at a bound, and the answer says so.",
        ),
      ),
      HttpApiEndpoint.post("replay", "/replay", {
        payload: ReplayTimers,
        success: ReplayTimersAnswer,
        error: [...commonProblems, TimerNotFound],
      }).annotateMerge(
        describe(
          "Replay dead letters",
          { namespace: "billing", filter: { idPrefix: "invoice-4711-" }, dryRun: true },
          "Each is armed for now, its attempts anew, and is no dead letter any more; one whose key is pending is skipped. Of a timerId the latest is replayed, of filters those that died first come first. In bounded batches: repeat the call while the answer says more, with until set to when you began if they may die again meanwhile.",
        ),
      ),
      HttpApiEndpoint.post("discard", "/discard", {
        payload: DiscardTimers,
        success: DiscardTimersAnswer,
        error: [...commonProblems, TimerNotFound],
      }).annotateMerge(
        describe(
          "Discard dead letters",
          { namespace: "billing", timerId: "invoice-4711-reminder" },
          "They are removed for good, payload and all. In bounded batches: repeat the call while the answer says more.",
        ),
      ),
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
        describe(
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
        describe(
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
        describe(
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
        describe(
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
        describe(
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
      }).annotateMerge(describe("Show the service", {}, "Its time, and whether its firing is stopped.")),
      HttpApiEndpoint.post("pause", "/pause", {
        payload: PauseService,
        success: ServiceAnswer,
        error: commonProblems,
      }).annotateMerge(
        describe(
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
        describe("Fire again", {}, "What fell due meanwhile starts at once, within the bounds in flight."),
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
        describe("List open breakers", {}, "Of the node that is asked: every node has breakers of its own."),
      ),
      HttpApiEndpoint.post("reset", "/reset", {
        payload: ResetBreakers,
        success: ResetBreakersAnswer,
        error: commonProblems,
      }).annotateMerge(
        describe(
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

const makeMessagesGroup = (limits: Limits) =>
  HttpApiGroup.make("messages")
    .add(
      HttpApiEndpoint.post("list", "/list", {
        payload: makeListMessages(limits),
        success: ListMessagesAnswer,
        error: [...commonProblems, MessageRefusedByBus, BrokerUnavailable],
      }).annotateMerge(
        describe(
          "List undeliverable messages",
          { namespace: "billing", limit: 50 },
          "Messages of the bus that could not be handled, oldest first: of a namespace, or of all. Bodies are cut.",
        ),
      ),
      HttpApiEndpoint.post("get", "/get", {
        payload: GetMessage,
        success: MessageAnswer,
        error: messageProblems,
      }).annotateMerge(describe("Get an undeliverable message", message, "With its whole body.")),
      HttpApiEndpoint.post("replay", "/replay", {
        payload: ReplayMessage,
        success: ReplayMessageAnswer,
        error: messageProblems,
      }).annotateMerge(
        describe(
          "Replay an undeliverable message",
          message,
          "It goes to the group that could not handle it, as it first came, and is no longer kept here.",
        ),
      ),
      HttpApiEndpoint.post("discard", "/discard", {
        payload: DiscardMessage,
        success: DiscardMessageAnswer,
        error: messageProblems,
      }).annotateMerge(describe("Discard an undeliverable message", message, "It is removed for good.")),
    )
    .prefix("/messages")
    .annotateMerge(
      OpenApi.annotations({
        title: "Messages",
        description: "Messages of the bus that could not be handled.",
      }),
    )

const messageProblems = [...commonProblems, MessageNotFound, MessageRefusedByBus, BrokerUnavailable] as const
const message = { namespace: "billing", id: "17" }

const describe = (summary: string, example: Readonly<Record<string, unknown>>, description: string) =>
  OpenApi.annotations({ summary, description, transform: finishOperation(example) })

const key = { namespace: "billing", timerId: "invoice-4711-reminder" }
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
        transform: finishDocument,
      }),
    )

export const PunctualApi = makePunctualApi(defaultLimits)
