// Which route answers: exact paths before prefixes, prefixes in their order, and none for the rest.
import { describe, expect, test } from "bun:test"
import type { HttpAnswer } from "../src/HttpAnswer.ts"
import type { HttpRequest } from "../src/HttpRequest.ts"
import type { Route } from "../src/Route.ts"
import { Router } from "../src/Router.ts"
import { httpRequestOf } from "../testkit/httpRequestOf.ts"

const answering =
  (name: string) =>
  async ({ method }: HttpRequest): Promise<HttpAnswer> => ({
    status: 200,
    headers: {},
    body: `${name} ${method}`,
  })

const routeOf = (name: string): Route => ({ methods: ["POST"], handle: answering(name) })

const router = (unknown: Array<number> = []) =>
  new Router({
    routes: new Map([
      ["/api/v1/a", routeOf("a")],
      ["/internal/v1/exact", routeOf("exact")],
    ]),
    prefixes: [
      { prefix: "/internal/v1/", handle: answering("nodes") },
      { prefix: "/internal/", handle: answering("rest") },
    ],
    unknown: { answered: (status) => void unknown.push(status) },
  })

const ask = async (path: string, method = "POST", unknown: Array<number> = []) => {
  const { status, headers, body } = await router(unknown).handle(httpRequestOf({ target: path, method }))
  return { status, text: String(body), allow: headers["allow"] ?? null }
}

describe("a router", () => {
  test("gives an exact path to its route, for any method and query", async () => {
    expect(await ask("/api/v1/a")).toMatchObject({ text: "a POST" })
    expect(await ask("/api/v1/a?b=c", "GET")).toMatchObject({ text: "a GET" })
    expect(await ask("/internal/v1/exact")).toMatchObject({ text: "exact POST" })
  })

  test("answers OPTIONS for a route, and passes it to a prefix", async () => {
    expect(await ask("/api/v1/a", "OPTIONS")).toEqual({ status: 204, text: "", allow: "POST, OPTIONS" })
    expect(await ask("/internal/v1/x", "OPTIONS")).toMatchObject({ text: "nodes OPTIONS" })
  })

  test("gives a path below a prefix to the first prefix that matches", async () => {
    expect(await ask("/internal/v1/write")).toMatchObject({ text: "nodes POST" })
    expect(await ask("/internal/other")).toMatchObject({ text: "rest POST" })
  })

  test("answers 404 to any other path, and counts it", async () => {
    const unknown: Array<number> = []
    for (const path of ["/", "/api/v1/a/", "/api/v1", "/internal", "//api/v1/a"]) {
      const { status, text } = await ask(path, "POST", unknown)
      expect([path, status, JSON.parse(text).code]).toEqual([path, 404, "notFound"])
    }
    expect(unknown).toEqual([404, 404, 404, 404, 404])
  })
})
