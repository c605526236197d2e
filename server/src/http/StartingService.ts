// HTTP from the moment the port is open until the engine can be asked: pages are served, everything else is answered
// with 503. The same rules as later say which hosts and origins may come in.

import { refusalCounter, routeMetrics } from "@punctual/http/HttpMetrics"
import { problemResponse } from "@punctual/http/problemResponse"
import { RequestGuard, type RequestGuardOptions } from "@punctual/http/RequestGuard"
import { Router } from "@punctual/http/Router"
import { Effect } from "effect"
import { whyStarting } from "./Availability.ts"
import type { HttpService } from "./HttpService.ts"
import { namePrefix } from "./namePrefix.ts"
import type { PageRoutes } from "./PageRoutes.ts"

export interface StartingServiceOptions {
  readonly guard: RequestGuardOptions
  readonly pageRoutes: PageRoutes
}

export const makeStartingService = ({
  guard,
  pageRoutes,
}: StartingServiceOptions): Effect.Effect<Pick<HttpService, "handle">> =>
  Effect.map(Effect.context<never>(), (context) => {
    const other = routeMetrics(namePrefix, "other", context)
    const refuse = async () => {
      const answer = problemResponse(whyStarting())
      other.answered(answer.status, 0)
      return answer
    }
    const router = new Router({
      routes: pageRoutes.routes,
      prefixes: [{ prefix: "/", handle: refuse }],
      unknown: other,
    })
    return new RequestGuard(guard, {
      handle: router.handle,
      namePrefix,
      pages: pageRoutes.linkable,
      onRefused: refusalCounter(namePrefix, context),
    })
  })
