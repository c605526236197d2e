// The routes that need nothing from the engine: the console, the documentation and the OpenAPI document. The service
// opens them with its port, so people see a page also while the service starts, waits for its store, or drains.
import type { Limits } from "@punctual/api/Limits"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import { routeMetrics } from "@punctual/http/HttpMetrics"
import { consoleRoutes } from "@punctual/http/pages/ConsoleRoutes"
import { docsRoutes } from "@punctual/http/pages/docsRoutes"
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
  /** The documentation. Absent if it was not built. */
  readonly docs?: PagePack
}

export const makePageRoutes = ({ limits, pages, docs }: PageRoutesOptions): Effect.Effect<PageRoutes> =>
  Effect.map(Effect.context<never>(), (context) => {
    const site = docs === undefined ? undefined : docsRoutes(docs, "/docs/")
    const reference = makeReference({
      ...timerReference(limits),
      ...(site === undefined ? {} : { docs: "index.html" }),
    })
    const console = pages === undefined ? undefined : consoleRoutes(pages, "/console/")
    const answers: Record<string, SiteAnswer> = {
      "/": redirectTo(console === undefined ? "docs/api" : "console/"),
      "/openapi.json": reference.openApi,
      "/docs": redirectTo(site === undefined ? "docs/api" : "docs/"),
      "/docs/": redirectTo("api"),
      "/docs/api": reference.page,
      // The pages of the documentation link to this name, because it also exists in a folder of files.
      "/docs/api.html": redirectTo("api"),
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
    if (site !== undefined) {
      const metrics = routeMetrics(namePrefix, "/docs/", context)
      for (const [path, answer] of site.answers) routes.set(path, readOnlyRoute(path, answer, metrics))
    }
    const pagePaths = [...(console?.pagePaths ?? []), ...(site?.pagePaths ?? [])]
    return { routes, linkable: new Set([...linkablePaths, ...pagePaths]) }
  })

const linkablePaths = ["/", "/docs", "/docs/", "/docs/api", "/docs/api/", "/docs/api.html"]

/** The address is relative, because a proxy may serve the service below a path that the service does not know. */
const redirectTo = (location: string) => (): HttpAnswer => ({ status: 302, headers: { location }, body: "" })
