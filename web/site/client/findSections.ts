/** Finds the sections that have all words of a query, the best first. */

/** The anchor (empty for the beginning of a page), the heading and the text. */
export type SearchSection = readonly [id: string, heading: string, text: string]

export type SearchPage = readonly [
  name: string,
  title: string,
  group: string,
  isRecord: 0 | 1,
  sections: ReadonlyArray<SearchSection>,
]

export interface SearchIndex {
  readonly pages: ReadonlyArray<SearchPage>
}

export interface FoundSection {
  readonly address: string
  readonly page: string
  readonly group: string
  readonly heading: string
  /** The text around the first word. */
  readonly excerpt: string
  readonly score: number
}

const wordsMax = 8
const wordCharsMax = 60
const foundMax = 24
/** One page must not push out all others. */
const foundPerPage = 4

export const wordsOfQuery = (query: string): ReadonlyArray<string> =>
  query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
    .slice(0, wordsMax)
    .map((word) => word.slice(0, wordCharsMax))

export const findSections = (index: SearchIndex, query: string): ReadonlyArray<FoundSection> => {
  const words = wordsOfQuery(query)
  if (words.length === 0) return []
  const found = index.pages.flatMap(([name, title, group, isRecord, sections]) =>
    sections
      .flatMap(([id, heading, text]) => {
        const score =
          scoreOf(words, { title, heading, text, isStart: id === "" }) * (isRecord === 1 ? 0.25 : 1)
        if (score === 0) return []
        const address = id === "" ? name : `${name}#${id}`
        return [{ address, page: title, group, heading, excerpt: excerptOf(text, words), score }]
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, foundPerPage),
  )
  return found.sort((a, b) => b.score - a.score).slice(0, foundMax)
}

interface Searched {
  readonly title: string
  readonly heading: string
  readonly text: string
  /** The first section of its page. */
  readonly isStart: boolean
}

/** 0 if a word is missing. */
const scoreOf = (words: ReadonlyArray<string>, { title, heading, text, isStart }: Searched): number => {
  const inTitle = title.toLowerCase()
  const inHeading = heading.toLowerCase()
  const inText = text.toLowerCase()
  let score = 0
  for (const word of words) {
    // The title counts for the first section only. Otherwise it would lift all sections of its page.
    const ofTitle = placeScore(inTitle, word) * (isStart ? 12 : 0.5)
    const ofHeading = placeScore(inHeading, word) * (isStart ? 0 : 8)
    const ofText = placeScore(inText, word)
    if (ofTitle + ofHeading + ofText === 0) return 0
    score += ofTitle + ofHeading + ofText
  }
  return score
}

/** So many places of a word in a text count. */
const placesMax = 8

/** More if the word begins a word of the text, still more if it is one, and a little more for each further place. */
const placeScore = (text: string, word: string): number => {
  let best = 0
  let places = 0
  for (
    let at = text.indexOf(word);
    at !== -1 && places < placesMax;
    at = text.indexOf(word, at + word.length)
  ) {
    const begins = at === 0 || !isWordCharacter(text.charAt(at - 1))
    const ends = !isWordCharacter(text.charAt(at + word.length))
    best = Math.max(best, begins && ends ? 3 : begins ? 2 : 1)
    places++
  }
  return best === 0 ? 0 : best + (places - 1) * 0.4
}

const isWordCharacter = (character: string): boolean => /[\p{L}\p{N}_]/u.test(character)

const excerptChars = 160

const excerptOf = (text: string, words: ReadonlyArray<string>): string => {
  const lower = text.toLowerCase()
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place !== -1)
  const first = Math.min(...places, text.length)
  const from = first === text.length ? 0 : Math.max(0, first - 40)
  const start = from === 0 ? 0 : text.indexOf(" ", from) + 1
  const end = Math.min(text.length, start + excerptChars)
  return `${start === 0 ? "" : "… "}${text.slice(start, end)}${end === text.length ? "" : " …"}`
}
