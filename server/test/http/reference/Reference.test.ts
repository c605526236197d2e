// The reference page as browsers get it: complete, small, without anything from elsewhere, and behind a proxy, too.
import { describe, expect, test } from "bun:test"
import { defaultLimits } from "@punctual/api/Limits"
import { problemCodes } from "@punctual/api/Problem"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import { makeReference } from "@punctual/http/reference/Reference"
import { timerReference } from "../../../src/http/timerReference.ts"
import { proxyBelow } from "../proxyBelow.ts"
import { type Answered, withService } from "../ServiceFixture.ts"

const bytesAtMost = 400_000

const textOf = ({ body }: HttpAnswer): string => new TextDecoder().decode(body as Uint8Array)

const pageOf = async (limits = defaultLimits): Promise<string> =>
  textOf(await makeReference(timerReference(limits)).page())

const page = await pageOf()
// biome-ignore lint/suspicious/noExplicitAny: the document is read by paths that the tests themselves check.
const document: any = JSON.parse(textOf(await makeReference(timerReference(defaultLimits)).openApi()))

const idsIn = (html: string) => [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id)

const plain = (html: string): string =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")

describe("the page", () => {
  test("shows every call, webhook and problem, each under an id of its own, and every link has its target", () => {
    const ids = idsIn(page)
    expect(ids.length).toBe(new Set(ids).size)
    const operations = [...Object.values<object>(document.paths), ...Object.values<object>(document.webhooks)]
    for (const operation of operations.flatMap((path) => Object.values(path))) {
      expect(ids).toContain(operation.operationId)
    }
    for (const code of Object.keys(problemCodes)) expect(ids).toContain(`problem.${code}`)
    const links = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id = ""]) => id)
    expect(links.length).toBeGreaterThan(100)
    for (const link of links) expect(ids).toContain(link)
  })

  test("gives each call a command whose body is the example of the document", () => {
    for (const [path, { post }] of Object.entries<{ post?: typeof document }>(document.paths)) {
      if (post === undefined) continue
      const start = page.indexOf(`<section class="call" id="${post.operationId}"`)
      const command = plain(/<pre[^>]*>(.*?)<\/pre>/s.exec(page.slice(start))?.[1] ?? "")
      expect(command).toStartWith(`curl http://127.0.0.1:8080${path} \\\n`)
      const body = /-d '(.*)'$/s.exec(command)?.[1] ?? ""
      expect(JSON.parse(body)).toEqual(post.requestBody.content["application/json"].example)
    }
  })

  test("follows the schemas: limits, exclusive fields and bounds are what the document says", async () => {
    expect(page).toContain("1 to 1,000 items")
    expect(await pageOf({ ...defaultLimits, createMany: 7 })).toContain("1 to 7 items")
    expect(page).toContain("Give exactly one of <code>executeAt</code> and <code>delay</code>.")
    expect(page).toContain("Give at most one of <code>executeAt</code> and <code>delay</code>.")
    expect(page).not.toContain("[object Object]")
    expect(page).not.toContain("undefined")
  })

  test("has landmarks, one main heading, no level left out, and a name for every control", () => {
    for (const landmark of ["<header", "<nav", "<main"]) expect(page.split(landmark).length).toBe(2)
    const levels = [...page.matchAll(/<h([1-6])[\s>]/g)].map(([, level]) => Number(level))
    expect(levels.filter((level) => level === 1).length).toBe(1)
    const main = page.slice(page.indexOf("<main"))
    const inMain = [...main.matchAll(/<h([1-6])[\s>]/g)].map(([, level]) => Number(level))
    inMain.reduce((before, level) => {
      expect(level - before).toBeLessThanOrEqual(1)
      return level
    }, 0)
    expect(page).toContain('<html lang="en">')
    expect(page).toMatch(/<input [^>]*aria-label=/)
  })

  test("is made in slices: other work goes on meanwhile", async () => {
    let turns = 0
    let isMaking = true
    const count = () => {
      turns++
      if (isMaking) setImmediate(count)
    }
    setImmediate(count)
    await pageOf({ ...defaultLimits })
    isMaking = false
    expect(turns).toBeGreaterThan(Object.keys(document.paths).length)
  })
})

describe("in a browser", () => {
  test("page, style and script together are small, and nothing else is fetched", () =>
    withService({}, async ({ fetch }) => {
      const { text, headers } = await fetch("/docs/api")
      const addresses = [...text.matchAll(/(?:src|href)="([^"#][^"]*)"/g)].map(([, address = ""]) => address)
      const files = addresses.filter((address) => /^api\.(?:css|js|svg)\?v=\w+$/.test(address))
      expect(files.length).toBe(3)
      expect(addresses.filter((address) => !files.includes(address))).toEqual([
        "../openapi.json",
        "../openapi.json",
      ])
      let bytes = Buffer.byteLength(text)
      for (const file of files) bytes += Buffer.byteLength((await fetch(`/docs/${file}`)).text)
      expect(bytes).toBeLessThan(bytesAtMost)
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
    }))

  test("its policy allows its own files only, and the page needs no more", () =>
    withService({}, async ({ fetch }) => {
      const { text, headers } = await fetch("/docs/api")
      const policy = headers.get("content-security-policy") ?? ""
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
      expect(policy).not.toContain("unsafe")
      expect(text).not.toMatch(/<style|\sstyle=|\son\w+=|<script>|javascript:/)
      for (const [file, type] of [
        ["api.css", "text/css"],
        ["api.js", "text/javascript"],
        ["api.svg", "image/svg+xml"],
      ])
        expect((await fetch(`/docs/${file}`)).headers.get("content-type")).toStartWith(type ?? "")
    }))

  test("every way leads to it, below any path that a proxy takes away", () =>
    withService({}, async ({ url }) => {
      const prefix = "/tools/punctual"
      using proxy = proxyBelow(prefix, url)
      for (const way of ["/", "/docs", "/docs/", "/docs/api", "/docs/api/"]) {
        const answer = await fetch(`http://127.0.0.1:${proxy.port}${prefix}${way}`)
        expect([way, answer.status, new URL(answer.url).pathname]).toEqual([way, 200, `${prefix}/docs/api`])
        for (const [, address = ""] of (await answer.text()).matchAll(
          /(?:src|href)="((?:api|\.\.)[^"]*)"/g,
        )) {
          expect([address, (await fetch(new URL(address, answer.url))).status]).toEqual([address, 200])
        }
      }
    }))
})

describe("the colours", () => {
  const channel = (hex: string) => {
    const value = Number.parseInt(hex, 16) / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }
  const luminance = (colour: string): number =>
    0.2126 * channel(colour.slice(1, 3)) +
    0.7152 * channel(colour.slice(3, 5)) +
    0.0722 * channel(colour.slice(5, 7))
  const contrast = (one: string, other: string): number => {
    const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
    return (light + 0.05) / (dark + 0.05)
  }
  /** Text and what it stands on. */
  const pairs: ReadonlyArray<string> = [
    ..."text muted link required method".split(" ").map((text) => `${text} back`),
    ..."text muted link".split(" ").flatMap((text) => [`${text} soft`, `${text} code-back`]),
    "link mark",
    ..."panel-text key string number".split(" ").map((text) => `${text} panel`),
    "panel-muted panel-head",
  ]

  for (const [index, theme] of ["light", "dark"].entries()) {
    test(`are readable in the ${theme} theme: a contrast of 4.5 or more`, async () => {
      const style = String(makeReference(timerReference(defaultLimits)).style().body)
      const colourOf = (name: string): string => {
        const value = new RegExp(`--${name}: (?:light-dark\\((#\\w+), (#\\w+)\\)|(#\\w+));`).exec(style)
        return value?.[index + 1] ?? value?.[3] ?? ""
      }
      for (const pair of pairs) {
        const [text = "", back = ""] = pair.split(" ").map(colourOf)
        expect([pair, contrast(text, back) >= 4.5]).toEqual([pair, true])
      }
    })
  }
})

test("a request that the page does not take is refused with the methods it takes", () =>
  withService({}, async ({ fetch }) => {
    const answered: Answered = await fetch("/docs/api", { method: "POST" })
    expect([answered.status, answered.headers.get("allow")]).toEqual([405, "GET, HEAD"])
  }))
