/** The call about the addresses that webhooks may reach. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { CheckEgressAnswer, makeCheckEgress } from "./CheckEgress.ts"
import { describeCall } from "./describeCall.ts"
import type { Limits } from "./Limits.ts"
import { commonProblems } from "./Problem.ts"

export const makeEgressGroup = (limits: Limits) =>
  HttpApiGroup.make("egress")
    .add(
      HttpApiEndpoint.post("check", "/check", {
        payload: makeCheckEgress(limits),
        success: CheckEgressAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "timers.read", checksNamespaces: true },
          "Check whether a URL may be called",
          { url: "http://127.0.0.1:9000/hook" },
          "Answers what the egress rules (TIMER_EGRESS) of the node that is asked say about the URL, and why. The node resolves the host but sends no request to it. It shows no refused address of a host. It makes at most 2 lookups at once for this call. While they run, other names are answered with 503 overloaded.",
        ),
      ),
    )
    .prefix("/egress")
    .annotateMerge(
      OpenApi.annotations({ title: "Egress", description: "The addresses that webhooks may reach." }),
    )
