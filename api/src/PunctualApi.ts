/**
 * The HTTP contract, version 1, in one definition: the server's validation, the OpenAPI document, the
 * reference page and the typed client all come from it. Every call is a POST with its whole request in the
 * JSON body, so that ids need no escaping and never appear in access logs.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ClusterAnswer, GetCluster } from "./Cluster.ts"
import { CreateManyTimersAnswer, makeCreateManyTimers } from "./CreateManyTimers.ts"
import { CreateTimerAnswer, makeCreateTimer } from "./CreateTimer.ts"
import { DeleteManyTimers, DeleteManyTimersAnswer } from "./DeleteManyTimers.ts"
import { DeleteTimer, DeleteTimerAnswer } from "./DeleteTimer.ts"
import { GetTimer, TimerAnswer } from "./GetTimer.ts"
import { defaultLimits, type Limits } from "./Limits.ts"
import { CountTimers, CountTimersAnswer, ListTimersAnswer, makeListTimers } from "./ListTimers.ts"
import { finishDocument, finishOperation } from "./openApiDocument.ts"
import { commonProblems, RevisionMismatch, TimerExists, TimerInFlight, TimerNotFound } from "./Problem.ts"
import { requestParseOptions } from "./requestParseOptions.ts"
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

const describe = (summary: string, example: Readonly<Record<string, unknown>>, description: string) =>
  OpenApi.annotations({ summary, description, transform: finishOperation(example) })

const key = { namespace: "billing", timerId: "invoice-4711-reminder" }
const created = { ...key, executeAt: "2030-01-01T09:00:00Z", callbackUrl: "https://example.com/hooks/timer" }

/** The contract under an operator's own limits. */
export const makePunctualApi = (limits: Limits) =>
  HttpApi.make("punctual")
    .add(makeTimersGroup(limits), clusterGroup())
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
