/** The search of the site: `/` opens it, arrows move through what it found, and Enter opens the first. */
import { type FoundSection, findSections, type SearchIndex, wordsOfQuery } from "./findSections.ts"

declare global {
  interface Window {
    /** The script of the index sets it. */
    punctualSearch?: SearchIndex
  }
}

export const addSearch = (): void => {
  const dialog = new SearchDialog()
  document.getElementById("search-open")?.addEventListener("click", () => dialog.open())
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof Element && event.target.matches("input, textarea, select")
    const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping
    const isControlK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)
    if (!isSlash && !isControlK) return
    event.preventDefault()
    dialog.open()
  })
}

class SearchDialog {
  readonly #dialog = document.createElement("dialog")
  readonly #input = document.createElement("input")
  readonly #status = document.createElement("p")
  readonly #list = document.createElement("ul")
  #isLoading = false

  constructor() {
    this.#dialog.className = "search"
    this.#dialog.setAttribute("aria-label", "Search the documentation")
    this.#input.type = "search"
    this.#input.placeholder = "Search the documentation"
    this.#input.setAttribute("aria-label", "Search the documentation")
    this.#input.autocomplete = "off"
    this.#input.spellcheck = false
    this.#input.maxLength = 200
    this.#status.setAttribute("role", "status")
    this.#dialog.append(this.#input, this.#status, this.#list)
    this.#input.addEventListener("input", () => this.#show())
    this.#dialog.addEventListener("keydown", (event) => this.#onKey(event))
    // A click beside the dialog reaches the dialog itself, because its content fills it.
    this.#dialog.addEventListener("click", ({ target }) => {
      if (target === this.#dialog || (target instanceof Element && target.closest("a") !== null)) {
        this.#dialog.close()
      }
    })
  }

  open(): void {
    if (!this.#dialog.isConnected) document.body.append(this.#dialog)
    if (!this.#dialog.open) this.#dialog.showModal()
    this.#input.select()
    this.#load()
    this.#show()
  }

  /** Loads the index at the first use. */
  #load(): void {
    const address = document.documentElement.dataset["search"]
    if (this.#isLoading || window.punctualSearch !== undefined || address === undefined) return
    this.#isLoading = true
    const script = document.createElement("script")
    script.src = address
    const done = (): void => {
      this.#isLoading = false
      this.#show()
    }
    script.addEventListener("load", done)
    script.addEventListener("error", () => {
      script.remove()
      done()
    })
    document.head.append(script)
  }

  #show(): void {
    const query = this.#input.value
    const index = window.punctualSearch
    const words = wordsOfQuery(query)
    const found = index === undefined ? [] : findSections(index, query)
    this.#list.replaceChildren(...found.map((section) => resultOf(section, words)))
    this.#list.hidden = found.length === 0
    this.#status.textContent = this.#statusText(index !== undefined, words, found.length)
  }

  #statusText(isLoaded: boolean, words: ReadonlyArray<string>, count: number): string {
    if (words.length === 0) return "Type words, settings or codes, such as TIMER_EGRESS or 503."
    if (!isLoaded)
      return this.#isLoading ? "Loading …" : "The search could not be loaded. Open it again to retry."
    if (count === 0) return `Nothing has ${words.length === 1 ? "this word" : "all of these words"}.`
    return count === 1 ? "1 section" : `${count} sections, the best first`
  }

  #onKey(event: KeyboardEvent): void {
    const links = [...this.#list.querySelectorAll("a")]
    const at = links.findIndex((link) => document.activeElement?.isSameNode(link))
    if (event.key === "ArrowDown") (links[at + 1] ?? links.at(-1))?.focus()
    else if (event.key === "ArrowUp") (at > 0 ? links[at - 1] : this.#input)?.focus()
    // A browser would first empty the box.
    else if (event.key === "Escape") this.#dialog.close()
    else if (event.key === "Enter" && document.activeElement === this.#input) links[0]?.click()
    else return
    event.preventDefault()
  }
}

const resultOf = ({ address, page, group, heading, excerpt }: FoundSection, words: ReadonlyArray<string>) => {
  const link = document.createElement("a")
  link.className = "result"
  link.href = (document.documentElement.dataset["root"] ?? "") + address
  link.append(
    partOf("result-heading", heading, words),
    partOf("result-place", heading === page ? group : `${group} · ${page}`, []),
    partOf("result-text", excerpt, words),
  )
  const item = document.createElement("li")
  item.append(link)
  return item
}

/** Text nodes only: nothing from the index becomes HTML. */
const partOf = (className: string, text: string, words: ReadonlyArray<string>): HTMLElement => {
  const part = document.createElement("span")
  part.className = className
  if (words.length === 0) {
    part.textContent = text
    return part
  }
  const pattern = words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")
  // The pieces at odd places are the words.
  for (const [index, piece] of text.split(new RegExp(`(${pattern})`, "i")).entries()) {
    if (index % 2 === 0) part.append(piece)
    else part.append(Object.assign(document.createElement("mark"), { textContent: piece }))
  }
  return part
}
