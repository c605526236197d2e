// What the search of the site looks through: the text of every section. The browser loads it when the reader opens the
// search, and looks through the text itself, so that it can show where the words are.
import type { SearchIndex, SearchSection } from "./client/findSections.ts"
import { type RenderedDocument, textOfHtml } from "./renderMarkdown.ts"

/** Longer sections are cut. Of a record of a decision, the beginning of each section says what it is about. */
const sectionCharsMax = 4_000
const recordSectionCharsMax = 700

export interface SearchablePage {
  readonly name: string
  /** In the menu. */
  readonly group: string
  /** A record of a decision: readers look for it less often than for a guide. */
  readonly isRecord: boolean
  readonly rendered: RenderedDocument
}

/** A script, because a page may load scripts also from a folder. */
export const searchScript = (pages: ReadonlyArray<SearchablePage>): string => {
  const index: SearchIndex = {
    pages: pages.map(({ name, group, isRecord, rendered }) => [
      name,
      rendered.title,
      group,
      isRecord ? 1 : 0,
      sectionsOf(rendered, isRecord ? recordSectionCharsMax : sectionCharsMax),
    ]),
  }
  return `window.punctualSearch=${JSON.stringify(index)}`
}

const sectionsOf = ({ html, title }: RenderedDocument, charsMax: number): ReadonlyArray<SearchSection> =>
  html
    .split(/(?=<h[23] id=)/)
    .map((part): SearchSection => {
      const [whole = "", id = "", heading = ""] =
        /^<h[23] id="([^"]*)">(.*?)(?:<a class="anchor".*?<\/a>)?<\/h[23]>/s.exec(part) ?? []
      const text = textOfHtml(
        part
          .slice(whole.length)
          .replace(/^<h1.*?<\/h1>/s, "")
          // Words of neighbouring cells and blocks are not one word.
          .replaceAll(/<\/(?:td|th|li|p|pre|h\d)>/g, " "),
      )
        .replaceAll(/\s+/g, " ")
        .trim()
        .slice(0, charsMax)
      return [id, id === "" ? title : textOfHtml(heading), text]
    })
    .filter(([id, , text]) => id !== "" || text !== "")
