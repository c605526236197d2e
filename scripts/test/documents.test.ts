// What a machine can check in the documents without running anything: links, pictures, the words that we do not use,
// and whether a test runs each code block. server/test/process/guides.test.ts runs the blocks themselves.
import { describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { anchorsOf, blocksOf, documents, guides, linksOf, wordsOf } from "../documents.ts"
import { filesBelow, root, sourceRoots, textOf } from "../repository.ts"
import { timerPictures } from "../timerPicture.ts"

/** README and the documents for users. These follow the rules for words. */
const forUsers = [
  ...guides(),
  "docs/benchmarks.md",
  "docs/simulation.md",
  "docs/map.md",
  "docs/limits.md",
  "bench/README.md",
]

/** Words that readers stumble over, or second names of a thing, and what to write instead. */
const refusedWords: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bmend(s|ed|ing)?\b/i, "fix"],
  [/\bheed(s|ed)?\b/i, "obey, or: is not ignored"],
  [/\bwho(m)?ever\b/i, "name the person or the part"],
  [/\bwhatever\b/i, "name the thing"],
  [/\bof which\b/i, "begin a new sentence"],
  [/\btold apart\b/i, "distinguish"],
  [/\blet(s|ting)? go\b/i, "drop, release"],
  [/\bstands? for\b/i, "means"],
  [/\bshall\b/i, "must, or will"],
  [/\banew\b/i, "again"],
  [/\bwhat becomes of\b/i, "what happens to"],
  [/\b(go|goes|went) on by chance\b|\bby chance\b/i, "at random"],
  [/\bout of reach\b|\bin reach\b/i, "unreachable, reachable"],
]

/** On the bus and in the Service Agent a namespace is a tenant, by their contracts. Elsewhere it is always a namespace. */
const namesTenants = [
  "docs/guides/agent.md",
  "docs/guides/kafka.md",
  "docs/guides/messages.md",
  "docs/guides/rabbitmq.md",
  "docs/limits.md",
]

describe("links", () => {
  test.each([...documents()])("%s links only to what exists", (path) => {
    expect(linksOf(path).flatMap((link) => whyBroken(path, link.target, link.line))).toEqual([])
  })

  test("sources and tests name documents that exist", () => {
    const broken = [...sourceRoots, "server/test"]
      .flatMap((folder) => filesBelow(folder, ".ts", ".mjs"))
      .flatMap((path) =>
        [...textOf(path).matchAll(/\bdocs\/[\w/-]+\.md\b/g)]
          .filter(([document]) => !existsSync(join(root, document)))
          .map(([document]) => `${path}: ${document}`),
      )
    expect(broken).toEqual([])
  })
})

const whyBroken = (path: string, target: string, line: number): ReadonlyArray<string> => {
  if (/^(https?|mailto):/.test(target)) return []
  const [file = "", anchor] = target.split("#")
  const place = file === "" ? path : normalize(join(dirname(path), decodeURIComponent(file)))
  if (!existsSync(join(root, place))) return [`${path}:${line}: there is no ${place}`]
  return anchor === undefined || !place.endsWith(".md") || anchorsOf(place).has(anchor)
    ? []
    : [`${path}:${line}: ${place} has no heading for #${anchor}`]
}

describe("pictures", () => {
  test.each([...timerPictures()])("%s is what scripts/timerPicture.ts draws", (file, drawn) => {
    expect(textOf(file)).toBe(drawn)
  })
})

describe("words", () => {
  test.each(forUsers)("%s has no word that readers stumble over", (path) => {
    const words = namesTenants.includes(path)
      ? refusedWords
      : [...refusedWords, [/\btenants?\b/i, "namespace"] as const]
    const found = wordsOf(path).flatMap((line, index) =>
      words
        .filter(([word]) => word.test(line))
        .map(([word, instead]) => `${path}:${index + 1}: ${word.exec(line)?.[0]} (write: ${instead})`),
    )
    expect(found).toEqual([])
  })

  test("README is short", () => {
    expect(textOf("README.md").split("\n").length).toBeLessThanOrEqual(250)
  })

  test.each([...guides().filter((path) => path !== "README.md")])("%s begins with its goal", (path) => {
    expect(textOf(path)).toMatch(/^# .+\n\n\*\*Goal:\*\* /)
  })
})

/** Languages that a test runs or checks, and those of output, of text on the wire and of the other client libraries. */
const languages = ["sh", "ts", "js", "sql", "ini", "crontab", "json", "text", "http", "go", "python", "java"]

describe("code blocks", () => {
  test.each(forUsers)("each block of %s is run, or says why not", (path) => {
    const wrong = blocksOf(path).flatMap(({ language, note, text, line }) => {
      if (!languages.includes(language)) return [`${path}:${line}: the language "${language}" is not known`]
      if (note?.startsWith("not run:") && note.length < "not run: ".length + 10)
        return [`${path}:${line}: no reason`]
      return language === "text" && /^(\$ )?(punctual|npm|curl|bun|node) /m.test(text)
        ? [`${path}:${line}: a command in a block of output: make it sh`]
        : []
    })
    expect(wrong).toEqual([])
  })

  test.each(forUsers)(
    "the JSON of %s is valid, and programs that are not run have no syntax error",
    (path) => {
      for (const { language, text, note } of blocksOf(path)) {
        if (language === "json") expect(() => JSON.parse(text)).not.toThrow()
        if ((language === "ts" || language === "js") && note?.startsWith("not run:")) {
          expect(() => new Bun.Transpiler({ loader: language }).transformSync(text)).not.toThrow()
        }
      }
    },
  )
})

test("no document writes a password on a command line, where other users of the machine can see it", () => {
  const found = documents().flatMap((path) =>
    blocksOf(path)
      .filter(({ language }) => language === "sh")
      .flatMap(({ text }) => commandsOf(text))
      .filter((line) => /:\/\/[^\s/:@]+:[^\s@]+@|--password|PGPASSWORD=|PASSWORD=|\s-p\S+@/.test(line))
      .map((line) => `${path}: ${line}`),
  )
  expect(found).toEqual([])
})

/** The lines of a block that are commands. What `<<'END'` feeds to a command is not on its command line. */
const commandsOf = (text: string): ReadonlyArray<string> =>
  text.replaceAll(/(<<'END'\n)[\s\S]*?\nEND(?=\n|$)/g, "$1").split("\n")

test("the guide of the clients shows programs of the READMEs, whose tests run them", () => {
  const guide = blocksOf("docs/guides/clients.md")
  for (const [language, library] of Object.entries({
    ts: "typescript",
    go: "go",
    python: "python",
    java: "java",
  })) {
    const shown = guide.filter((block) => block.language === language).map(({ text }) => text)
    const run = blocksOf(`sdks/${library}/README.md`).map(({ text }) => text)
    expect([language, shown.length]).toEqual([language, 1])
    expect(run).toEqual(expect.arrayContaining(shown))
  }
})
