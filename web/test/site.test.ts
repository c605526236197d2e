// The documentation as a site: every link leads somewhere, the menu reaches every page, HTML in a document stays text,
// and the search finds what readers look for.
import { afterAll, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join, posix } from "node:path"
import { gzipSync } from "node:zlib"
import { anchorsOf } from "../../scripts/documents.ts"
import { filesBelow, root } from "../../scripts/repository.ts"
import { writeSite } from "../../scripts/site.ts"
import { TemporaryFolder } from "../../server/testkit/TemporaryFolder.ts"
import { buildSite } from "../site/buildSite.ts"
import { findSections, type SearchIndex } from "../site/client/findSections.ts"
import { colouredCode } from "../site/colouredCode.ts"
import { decisionRecords, readNavigation } from "../site/navigation.ts"
import { renderMarkdown, textOfHtml } from "../site/renderMarkdown.ts"
import { SiteLinks } from "../site/SiteLinks.ts"
import { SitePictures } from "../site/SitePictures.ts"
import { siteNameOf } from "../site/siteNames.ts"

/** What a reader loads to search: once, and only if the search is opened. */
const searchBytesMax = 256_000
/** A page without its pictures. */
const pageBytesMax = 64_000
/** Everything that a page loads beside its HTML, pictures and search. */
const assetBytesMax = 16_000
/** The whole site. Every executable carries it. */
const siteBytesMax = 4_000_000

const { files, problems } = await buildSite(root)
const pages = [...files.keys()].filter((name) => name.endsWith(".html"))
const textOf = (name: string): string => {
  const content = files.get(name)?.content ?? ""
  return typeof content === "string" ? content : new TextDecoder().decode(content)
}
const bytesOf = (name: string): number => gzipSync(textOf(name)).length
const documents = [
  ...readNavigation(root)
    .flatMap(({ entries }) => entries.map(({ page }) => page))
    .filter((page) => page.endsWith(".md")),
  ...decisionRecords(root),
]
const idsOf = (name: string): ReadonlySet<string> =>
  new Set([...textOf(name).matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => textOfHtml(id)))

/** The addresses that a page names, as names on the site with their anchors. Addresses of other sites are left out. */
const targetsOf = (name: string): ReadonlyArray<string> =>
  [...textOf(name).matchAll(/<[^>]* (?:href|src|data-search)="([^"]*)"/g)]
    .map(([, address = ""]) => textOfHtml(address))
    .filter((address) => !/^(https?:|mailto:)/.test(address))
    .map((address) => {
      const [path = "", anchor] = address.split("#")
      const target = path === "" ? name : posix.normalize(posix.join(posix.dirname(name), path))
      return anchor === undefined ? target : `${target}#${anchor}`
    })

/** The service makes this page itself. */
const referencePage = "api.html"

describe("links", () => {
  test("no document has a dead link, a missing picture or HTML that the site does not know", () => {
    expect(problems).toEqual([])
  })

  test("every address on a page leads to a file of the site, and every anchor to a heading", () => {
    const anchors = new Map(pages.map((name) => [name, idsOf(name)]))
    const dead = pages.flatMap((name) =>
      targetsOf(name)
        .filter((target) => {
          const [file = "", anchor] = target.split("#")
          if (file === referencePage) return false
          return (
            !files.has(file) || (anchor !== undefined && !anchors.get(file)?.has(decodeURIComponent(anchor)))
          )
        })
        .map((target) => `${name}: ${target}`),
    )
    expect(dead).toEqual([])
  })

  test("anchors are those of the repository's own pages, so that a link works in both places", () => {
    for (const document of documents) {
      const made = [...idsOf(siteNameOf(document))]
      expect([document, [...anchorsOf(document)].filter((anchor) => !made.includes(anchor))]).toEqual([
        document,
        [],
      ])
    }
  })

  test("a link to a source becomes its path, a dead or strange one becomes text and a problem", () => {
    const rendered = render(
      "[how](../../scripts/run.mjs) [no](nowhere.md) [bad](javascript:alert(1)) [also](data:text/html,x) [up](../../../x)",
    )
    expect(rendered.html).toBe("<p>how (<code>scripts/run.mjs</code>) no bad also up</p>\n")
    expect(rendered.problems.length).toBe(4)
  })
})

describe("the menu", () => {
  test("names every document below docs, and only documents that exist", () => {
    expect(documents.toSorted()).toEqual([...new Set(documents)].toSorted())
    expect(filesBelow("docs", ".md").filter((path) => !documents.includes(path))).toEqual([])
  })

  test("reaches every page from the first one", () => {
    const reached = new Set(["index.html"])
    for (const name of reached) {
      for (const target of targetsOf(name)) {
        const [file = ""] = target.split("#")
        if (file.endsWith(".html") && files.has(file)) reached.add(file)
      }
    }
    expect(pages.filter((name) => !reached.has(name))).toEqual([])
  })

  test("marks the page that is open, once, and pages name their neighbours in its order", () => {
    const unmarked = pages.filter((name) => textOf(name).match(/aria-current="page"/g)?.length !== 1)
    expect(unmarked).toEqual([])
    const order = documents.map(siteNameOf)
    const wrong = order.slice(0, -1).filter((name, index) => {
      const [, next = ""] = /rel="next" href="([^"]+)"/.exec(textOf(name)) ?? []
      return posix.normalize(posix.join(posix.dirname(name), next)) !== order[index + 1]
    })
    expect(wrong).toEqual([])
  })
})

describe("HTML in a document", () => {
  test("is text, wherever it is", () => {
    const attack = '<script>alert(1)</script> <img src=x onerror=alert(1)> <b onclick="x()">b</b>'
    const attacked = [
      attack,
      `# ${attack}`,
      `| a |\n| --- |\n| ${attack} |`,
      `- ${attack}`,
      `\`\`\`sh\n${attack}\n\`\`\``,
      `\`${attack}\``,
      `[${attack}](#x)`,
      `![${attack}](../console/pictures/timers-1600-light.png)`,
      `<div>\n${attack}\n</div>`,
      `<!-- a --> ${attack}`,
      `<!-- a -->\n${attack}\n<!-- b -->`,
      `<picture>${attack}<img alt="a" src="x.png"></picture>`,
      `<picture><source media="(prefers-color-scheme: dark)" srcset="x.png"><img alt="a" src="../console/pictures/timers-1600-light.png" onload="x()"></picture>`,
      `\`\`\`"><script>alert(1)</script>\ncode\n\`\`\``,
      `[x](#"onclick="alert(1))`,
      `\`\`\`mermaid\n<script> --> <b>\n\`\`\``,
    ]
    for (const markdown of attacked) {
      const { html } = render(markdown)
      // Without the tags that the site writes itself, no tag and no handler is left.
      const others = html.replaceAll(
        /<\/?(?:p|h1|h2|table|thead|tbody|tr|th|td|ul|li|code|pre|div|span|a|img|wbr)(?: (?:class|id|href|src|alt|width|height|scope|loading|role|tabindex|rel|aria-label|data-language)="[^"<>]*")*>/g,
        "",
      )
      expect([markdown, others.includes("<")]).toEqual([markdown, false])
    }
  })

  test("no page has a script, a style or a handler in its text, which the policy of the browser would refuse", () => {
    const refused = /<script(?![^>]* src=)|<style|<[^>]* (?:style|on\w+)="/
    expect(pages.filter((name) => refused.test(textOf(name)))).toEqual([])
  })
})

describe("a page", () => {
  test("states the size of every picture, so that nothing moves when it arrives", () => {
    const images = pages.flatMap((name) => textOf(name).match(/<img [^>]*>/g) ?? [])
    expect(images.length).toBeGreaterThan(20)
    expect(images.filter((image) => !/ width="\d+" height="\d+"/.test(image))).toEqual([])
  })

  test("shows one picture for each theme", () => {
    const html = textOf("index.html")
    expect(html).toMatch(/class="picture only-light" href="pictures\/timers-1600-light-/)
    expect(html).toMatch(/class="picture only-dark" href="pictures\/timers-1600-dark-/)
  })

  test("marks strings, comments and keywords of code, and leaves everything else as it is", () => {
    expect(colouredCode("curl -d '{\"a\": 1}' x#y # why <b>", "sh")).toBe(
      'curl -d <span class="s">\'{&quot;a&quot;: 1}\'</span> x#y <span class="c"># why &lt;b&gt;</span>',
    )
    expect(colouredCode("a < b", "text")).toBe("a &lt; b")
    for (const language of ["sh", "ts", "json", "sql", "python", "java", "go"]) {
      const code = 'const a = "b" // \'c\n# <d> & -- e\n'
      expect(textOfHtml(colouredCode(code, language))).toBe(code)
    }
  })

  test("stays within its size, and so do the search and the whole site", () => {
    expect(pages.filter((name) => bytesOf(name) > pageBytesMax)).toEqual([])
    const assets = [...files.keys()].filter((name) => /^(main|start|site|icon)-/.test(name))
    expect(assets.length).toBe(4)
    expect(assets.reduce((sum, name) => sum + bytesOf(name), 0)).toBeLessThan(assetBytesMax)
    const searches = [...files.keys()].filter((name) => name.startsWith("search-"))
    expect(searches.map(bytesOf).map((bytes) => bytes > 10_000 && bytes < searchBytesMax)).toEqual([true])
    const all = [...files].reduce(
      (sum, [name, { content }]) => sum + (name.endsWith(".png") ? content.length : bytesOf(name)),
      0,
    )
    expect(all).toBeLessThan(siteBytesMax)
  })
})

describe("the search", () => {
  const index: SearchIndex = JSON.parse(
    textOf([...files.keys()].find((name) => name.startsWith("search-")) ?? "").slice(
      "window.punctualSearch=".length,
    ),
  )
  const find = (query: string) => findSections(index, query).map(({ address }) => address)

  test.each([
    ["TIMER_EGRESS", "guides/operate.html#what-callbacks-may-reach"],
    ["back up", "guides/backup.html"],
    ["kafka", "guides/kafka.html"],
    ["dynamodb", "guides/stores/dynamodb.html"],
    ["webhook signature", "guides/webhooks.html"],
    ["dead letters", "guides/operate.html#dead-letters"],
    ["CANCEL   inflight", "guides/api.html"],
    ["fence epoch", "architecture.html"],
  ])("finds %p among the first results", (query, expected) => {
    expect(
      find(query)
        .slice(0, 8)
        .map((address) => (expected.includes("#") ? address : address.split("#")[0])),
    ).toContain(expected)
  })

  test("needs all words, and every result leads to a heading", () => {
    expect(find("kafka nosuchwordatall")).toEqual([])
    expect(find("")).toEqual([])
    expect(find("a")).not.toEqual([])
    for (const address of find("timer store")) {
      const [name = "", anchor] = address.split("#")
      expect([address, files.has(name), anchor === undefined || idsOf(name).has(anchor)]).toEqual([
        address,
        true,
        true,
      ])
    }
  })

  test("bounds the words, the results and the results of one page", () => {
    const found = findSections(index, "the")
    expect(found.length).toBe(24)
    const perPage = Map.groupBy(found, ({ page }) => page)
    expect(Math.max(...[...perPage.values()].map(({ length }) => length))).toBeLessThanOrEqual(4)
    expect(findSections(index, `${"the ".repeat(5_000)}nosuchwordatall`).length).toBe(24)
  })
})

describe("a folder with the site", () => {
  const folder = new TemporaryFolder()
  afterAll(() => folder[Symbol.dispose]())

  test("has every page, and the reference without addresses of a node", async () => {
    const place = join(folder.path, "site")
    const count = await writeSite(place)
    expect(count).toBeGreaterThan(pages.length)
    const home = readFileSync(join(place, "index.html"), "utf8")
    expect(home).toContain("<h1")
    const reference = readFileSync(join(place, referencePage), "utf8")
    expect(reference).toContain("API reference")
    expect(reference).not.toContain('="../')
    expect(reference).not.toContain('class="base"')
    expect(JSON.parse(readFileSync(join(place, "openapi.json"), "utf8")).openapi).toStartWith("3.")
    expect(writeSite(place)).rejects.toThrow("is not empty")
  })
})

/** As if the text were a guide. */
function render(markdown: string) {
  return renderMarkdown("docs/guides/tried.md", markdown, {
    links: new SiteLinks(root, new Set(documents)),
    pictures: new SitePictures(root),
  })
}
