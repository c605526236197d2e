// Marks comments, strings and keywords in code blocks for colours. It knows only enough of each language for that.
import { colouredJson, escapeHtml } from "@punctual/http/reference/html"

const withHash = { comment: "(?<=^|\\s)#[^\\n]*" }
const withSlashes = { comment: "//[^\\n]*|/\\*[\\s\\S]*?\\*/" }

interface Language {
  readonly comment: string
  readonly keywords?: string
}

const script =
  "import|from|export|const|let|await|async|new|return|if|else|for|of|in|throw|try|catch|class|function|true|false|null|undefined"

const languages: Readonly<Record<string, Language>> = {
  sh: { ...withHash, keywords: "export|alias|for|do|done|if|then|fi|in" },
  yaml: withHash,
  ini: withHash,
  crontab: withHash,
  python: {
    ...withHash,
    keywords:
      "import|from|def|with|as|return|if|else|for|in|async|await|class|raise|try|except|True|False|None",
  },
  ts: { ...withSlashes, keywords: script },
  js: { ...withSlashes, keywords: script },
  go: {
    ...withSlashes,
    keywords: "package|import|func|var|const|type|struct|return|if|else|for|range|defer|go|nil|true|false",
  },
  java: {
    ...withSlashes,
    keywords:
      "import|public|static|final|class|void|var|new|return|if|else|for|try|catch|throws|throw|true|false|null",
  },
  sql: {
    comment: "--[^\\n]*",
    keywords: "SELECT|FROM|WHERE|CREATE|USER|GRANT|ON|TO|WITH|ALTER|INSERT|INTO|VALUES|SET",
  },
}

const strings = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/.source

/** The block as HTML. */
export const colouredCode = (code: string, language: string): string => {
  if (language === "json") return colouredJson(code)
  const rules = languages[language]
  if (rules === undefined) return escapeHtml(code)
  const keyword = rules.keywords === undefined ? "(?!)" : `(?<![\\w.$-])(?:${rules.keywords})(?![\\w-])`
  const token = new RegExp(`(${rules.comment})|(${strings})|(${keyword})`, "gm")
  let html = ""
  let end = 0
  for (const match of code.matchAll(token)) {
    const [whole, comment, quoted] = match
    const kind = comment !== undefined ? "c" : quoted !== undefined ? "s" : "k"
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${kind}">${escapeHtml(whole)}</span>`
    end = match.index + whole.length
  }
  return html + escapeHtml(code.slice(end))
}
