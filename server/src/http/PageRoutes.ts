// The routes that need nothing from the engine: the console, the reference page and the OpenAPI document. The service
// opens them with its port, so people see a page also while the service starts, waits for its store, or drains.
import type { Limits } from "@punctual/api/Limits"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import { routeMetrics } from "@punctual/http/HttpMetrics"
import { consoleRoutes } from "@punctual/http/pages/ConsoleRoutes"
import type { PagePack } from "@punctual/http/pages/PagePack"
import type { Route } from "@punctual/http/Route"
import { makeReference } from "@punctual/http/reference/Reference"
import { Effect } from "effect"
import { namePrefix } from "./namePrefix.ts"
import { readOnlyRoute, type SiteAnswer } from "./readOnlyRoute.ts"
import { timerReference } from "./timerReference.ts"

export interface PageRoutes {
  /** The keys are paths. */
  readonly routes: ReadonlyMap<string, Route>
  /** The paths of pages. Other sites may link to them: they show nothing that is secret, and change nothing. */
  readonly linkable: ReadonlySet<string>
}

export interface PageRoutesOptions {
  /** The reference states them. */
  readonly limits: Limits
  /** The pages of the console. Absent if they were not built. */
  readonly pages?: PagePack
}

export const makePageRoutes = ({ limits, pages }: PageRoutesOptions): Effect.Effect<PageRoutes> =>
  Effect.map(Effect.context<never>(), (context) => {
    const reference = makeReference(timerReference(limits))
    const console = pages === undefined ? undefined : consoleRoutes(pages, "/console/")
    const answers: Record<string, SiteAnswer> = {
      "/": redirectTo(console === undefined ? "docs/api" : "console/"),
      "/openapi.json": reference.openApi,
      "/docs": redirectTo("docs/api"),
      "/docs/": redirectTo("api"),
      "/docs/api": reference.page,
      "/docs/api/": redirectTo("../api"),
      "/docs/api.css": reference.style,
      "/docs/api.js": reference.script,
      "/docs/api.svg": reference.icon,
    }
    const routes = new Map(
      Object.entries(answers).map(([path, answer]) => [
        path,
        readOnlyRoute(path, answer, routeMetrics(namePrefix, path, context)),
      ]),
    )
    if (console !== undefined) {
      // One label for all files, because their names change with each version.
      const metrics = routeMetrics(namePrefix, "/console/", context)
      routes.set("/console", readOnlyRoute("/console", redirectTo("console/"), metrics))
      for (const [path, answer] of console.answers) routes.set(path, readOnlyRoute(path, answer, metrics))
    }
    return { routes, linkable: new Set([...linkablePaths, ...(console?.pagePaths ?? [])]) }
  })

const linkablePaths = ["/", "/docs", "/docs/", "/docs/api", "/docs/api/"]

/** The address is relative, because a proxy may serve the service below a path that the service does not know. */
const redirectTo = (location: string) => (): HttpAnswer => ({ status: 302, headers: { location }, body: "" })
