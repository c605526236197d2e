/**
 * The HTTP contract of the Service Agent, version 1, in one definition. The agent's validation, the OpenAPI document
 * and the reference page come from it. Unlike the Timer's contract it is REST: the tenant and the id of a call are in
 * the path.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { describeCall } from "../describeCall.ts"
import { described } from "../described.ts"
import { selfGroup, sessionsGroup } from "../keysGroup.ts"
import { Namespace } from "../Namespace.ts"
import {
  CallExistsProblem,
  CallNotFoundProblem,
  CallStateProblem,
  CountChanged,
  commonProblems,
  EgressRefused,
  StoreUnavailableProblem,
} from "../Problem.ts"
import { requestParseOptions } from "../requestParseOptions.ts"
import { finishAgentDocument } from "./agentDocument.ts"
import { ChangeManyCalls, ChangeManyCallsAnswer, ListCallsAnswer, ListCallsQuery } from "./ListCalls.ts"
import { ServiceCallId } from "./ServiceCallId.ts"
import { ServiceCallAnswer, ServiceCallDetailAnswer, SubmittedCallAnswer } from "./ServiceCallView.ts"
import {
  AnnotateCall,
  CancelCall,
  RescheduleCall,
  RunCallAgain,
  SubmitCall,
  SubmitHeaders,
} from "./SubmitCall.ts"
import {
  ListTenantsAnswer,
  ListTenantsQuery,
  PutTenantSettings,
  TenantSettingsAnswer,
} from "./TenantCalls.ts"

/** Every call that uses the store. */
const problems = [...commonProblems, StoreUnavailableProblem] as const
const problemsOfOne = [...problems, CallNotFoundProblem] as const

const ofTenant = {
  tenantId: Namespace.pipe(
    described("The tenant: 1 to 100 characters of A-Z, a-z, 0-9, _ and -. A leading _ is reserved."),
  ),
}
const ofCall = { ...ofTenant, serviceCallId: ServiceCallId }

/** The answer to a submission: the agent has stored the call and makes the request later. */
const accepted = SubmittedCallAnswer.pipe(HttpApiSchema.status(202))

const submitted = {
  name: "Send invoice 4711",
  request: { method: "POST", url: "https://api.example.com/invoices", body: { invoice: 4711 } },
  dueAt: "2030-01-01T09:00:00Z",
  tags: ["invoice"],
  serviceCallId: "invoice-4711",
}

const tenantEndpoints = () =>
  [
    HttpApiEndpoint.post("submit", "/", {
      params: ofTenant,
      headers: SubmitHeaders,
      payload: SubmitCall,
      success: accepted,
      error: [...problems, EgressRefused, CallExistsProblem],
    }).annotateMerge(
      describeCall(
        { action: "calls.write" },
        "Submit a call",
        submitted,
        "The agent answers when the call is on stable storage, with its address in the header location. It makes the request at its due time, at most once. A repeat with the same serviceCallId or idempotencyKey and the same request changes nothing; with another request it is refused. A delay counts from the receipt, so a repeat with a delay is another request.",
      ),
    ),
    HttpApiEndpoint.get("list", "/", {
      params: ofTenant,
      query: ListCallsQuery,
      success: ListCallsAnswer,
      error: problems,
    }).annotateMerge(
      describeCall(
        { action: "calls.read", takesTurns: true },
        "List calls",
        undefined,
        "Answers one page of the tenant's calls without their contents. The first page also has the counts by status.",
      ),
    ),
    HttpApiEndpoint.post("changeMany", "/bulk", {
      params: ofTenant,
      payload: ChangeManyCalls,
      success: ChangeManyCallsAnswer,
      error: [...problems, CountChanged],
    }).annotateMerge(
      describeCall(
        { action: "calls.write", takesTurns: true },
        "Change many calls",
        { do: "cancel", filter: { status: ["Scheduled"], tag: "invoice" }, expectedCount: 12 },
        "Cancels, stars or tags the calls that ids names, or all calls that match a filter, up to 1,000 in one request. With a filter, look at a list with the same filter first, and give its count.",
      ),
    ),
  ] as const

const callEndpoints = () =>
  [
    HttpApiEndpoint.get("get", "/:serviceCallId", {
      params: ofCall,
      success: ServiceCallDetailAnswer,
      error: problemsOfOne,
    }).annotateMerge(
      describeCall(
        { action: "calls.read" },
        "Get a call",
        undefined,
        "Answers the call with its request, its answer and its timeline. The values of secret headers are redacted.",
      ),
    ),
    HttpApiEndpoint.patch("annotate", "/:serviceCallId", {
      params: ofCall,
      payload: AnnotateCall,
      success: ServiceCallAnswer,
      error: problemsOfOne,
    }).annotateMerge(
      describeCall(
        { action: "calls.write" },
        "Star, tag or rename a call",
        { starred: true },
        "Works in every status. A field that is absent stays as it is.",
      ),
    ),
    HttpApiEndpoint.post("cancel", "/:serviceCallId/cancel", {
      params: ofCall,
      payload: CancelCall,
      success: ServiceCallAnswer,
      error: [...problemsOfOne, CallStateProblem],
    }).annotateMerge(
      describeCall(
        { action: "calls.write" },
        "Cancel a call",
        {},
        "Only a call that is Submitted or Scheduled can be cancelled. After the answer the request is never made. A repeat is answered in the same way.",
      ),
    ),
    HttpApiEndpoint.post("reschedule", "/:serviceCallId/reschedule", {
      params: ofCall,
      payload: RescheduleCall,
      success: ServiceCallAnswer,
      error: [...problemsOfOne, CallStateProblem],
    }).annotateMerge(
      describeCall(
        { action: "calls.write" },
        "Move a call",
        { dueAt: "2030-01-02T09:00:00Z" },
        "Only a call that is Scheduled can be moved.",
      ),
    ),
    HttpApiEndpoint.post("runAgain", "/:serviceCallId/run-again", {
      params: ofCall,
      headers: SubmitHeaders,
      payload: RunCallAgain,
      success: accepted,
      error: [...problemsOfOne, EgressRefused, CallExistsProblem, CallStateProblem],
    }).annotateMerge(
      describeCall(
        { action: "calls.write" },
        "Run a call again",
        {},
        "Submits the same request as a new call, with its name and tags. The old call stays as it is. A repeat with the same serviceCallId or Idempotency-Key changes nothing.",
      ),
    ),
  ] as const

const serviceCallsGroup = () =>
  HttpApiGroup.make("serviceCalls")
    .add(...tenantEndpoints(), ...callEndpoints())
    .prefix("/tenants/:tenantId/service-calls")
    .annotateMerge(
      OpenApi.annotations({
        title: "Service calls",
        description: "Submit calls to other services, now or later, and see what became of them.",
      }),
    )

const tenantsGroup = () =>
  HttpApiGroup.make("tenants")
    .add(
      HttpApiEndpoint.get("listTenants", "/", {
        query: ListTenantsQuery,
        success: ListTenantsAnswer,
        error: problems,
      }).annotateMerge(
        describeCall(
          { action: "calls.read", checksNamespaces: true, takesTurns: true },
          "List tenants",
          undefined,
          "Answers the tenants that have calls and that the key may see. A tenant needs no setting up, so a tenant without calls is not in the list.",
        ),
      ),
      HttpApiEndpoint.get("getSettings", "/:tenantId/settings", {
        params: ofTenant,
        success: TenantSettingsAnswer,
        error: problems,
      }).annotateMerge(
        describeCall(
          { action: "calls.read" },
          "Get the settings of a tenant",
          undefined,
          "A tenant that has set nothing has the defaults.",
        ),
      ),
      HttpApiEndpoint.put("putSettings", "/:tenantId/settings", {
        params: ofTenant,
        payload: PutTenantSettings,
        success: TenantSettingsAnswer,
        error: problems,
      }).annotateMerge(
        describeCall(
          { action: "namespaces.write" },
          "Set what a tenant hides",
          { hiddenHeaders: ["x-customer-token"] },
          "From now on nobody sees the values of these headers, also in calls that were made before. It needs the right to change a namespace, because a shorter list shows values again. Values in answers that arrived while their header was hidden are not stored, so they never appear again.",
        ),
      ),
    )
    .prefix("/tenants")
    .annotateMerge(
      OpenApi.annotations({ title: "Tenants", description: "Which tenants there are, and what each hides." }),
    )

export const AgentApi = HttpApi.make("agent")
  .add(serviceCallsGroup(), tenantsGroup(), selfGroup(), sessionsGroup())
  .prefix("/api/v1")
  .annotate(HttpApi.PayloadParseOptions, requestParseOptions)
  .annotateMerge(
    OpenApi.annotations({
      title: "Punctual Service Agent",
      version: "1",
      description:
        "Calls other people's services, now or later, and shows what became of each call. Failures are RFC 9457 problem documents with a code. Each answer has a header x-request-id. A request can give its own: 1 to 128 visible ASCII characters. It is the correlationId of a failure, and of the calls that the request submits.",
      license: { name: "MIT", identifier: "MIT" },
      servers: [{ url: "." }],
      transform: finishAgentDocument,
    }),
  )
