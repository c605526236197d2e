// The script of the reference page. The page also works without it.

const root = document.documentElement

// Sets the theme that the reader chose before the browser paints the page.
const themes = ["light", "dark"]
const chosen = () => {
  try {
    // The console and the documentation keep their theme in the same place.
    return JSON.parse(localStorage.getItem("punctual.theme"))
  } catch {
    return null
  }
}
if (themes.includes(chosen())) root.dataset.theme = chosen()

const showTheme = () => {
  const button = document.getElementById("theme")
  const isDark = () =>
    root.dataset.theme === undefined
      ? matchMedia("(prefers-color-scheme: dark)").matches
      : root.dataset.theme === "dark"
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark"
    button.setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme")
  }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark"
    try {
      localStorage.setItem("punctual.theme", JSON.stringify(root.dataset.theme))
    } catch {
      // Without storage the choice lasts until the page is closed.
    }
    label()
  })
  label()
  button.hidden = false
}

/** The examples read the key from the shell, so the page never has a key. */
const addAuthorize = () => {
  const button = document.getElementById("authorize")
  if (button === null) return
  const label = button.textContent
  button.addEventListener("click", () => {
    const isOn = root.classList.toggle("authorized")
    button.setAttribute("aria-pressed", String(isOn))
    button.textContent = isOn ? button.dataset.pressed : label
  })
  button.hidden = false
}

/** Examples use the address of this service, also behind a proxy that serves it below a path. */
const showAddress = () => {
  if (!location.protocol.startsWith("http")) return
  const base = new URL("..", location.href).href.replace(/\/$/, "")
  for (const element of document.querySelectorAll(".base")) element.textContent = base
}

const addCopyButtons = () => {
  for (const pre of document.querySelectorAll("pre")) {
    const button = document.createElement("button")
    button.type = "button"
    button.className = "copy"
    const caption = pre.parentElement.querySelector("figcaption, summary")?.textContent ?? ""
    const say = (text) => {
      button.textContent = text
      button.setAttribute("aria-label", `${text}: ${caption}`)
    }
    say("Copy")
    button.addEventListener("click", async () => {
      // Unlike textContent, this leaves out what is not shown.
      const text = pre.querySelector("code").innerText
      try {
        await navigator.clipboard.writeText(text)
        say("Copied")
      } catch {
        // Browsers refuse this on plain HTTP. Select the text, so that the reader can copy it.
        getSelection().selectAllChildren(pre.querySelector("code"))
        say("Press Ctrl+C")
      }
      setTimeout(say, 2000, "Copy")
    })
    pre.after(button)
  }
}

const addMenu = () => {
  const menu = document.getElementById("menu")
  const nav = document.getElementById("nav")
  const show = (isOpen) => {
    menu.setAttribute("aria-expanded", String(isOpen))
    nav.classList.toggle("open", isOpen)
  }
  root.classList.add("has-menu")
  menu.hidden = false
  menu.addEventListener("click", () => show(!nav.classList.contains("open")))
  nav.addEventListener("click", (event) => {
    if (event.target.closest("a")) show(false)
  })
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !nav.classList.contains("open")) return
    show(false)
    menu.focus()
  })
}

const addFilter = () => {
  const filter = document.getElementById("filter")
  const groups = [...document.querySelectorAll("#nav section")]
  filter.hidden = false
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/)
    let found = 0
    for (const group of groups) {
      let inGroup = 0
      for (const item of group.querySelectorAll("li")) {
        const link = item.firstElementChild
        const text = `${link.textContent} ${link.hash}`.toLowerCase()
        const matches = words.every((word) => text.includes(word))
        item.hidden = !matches
        if (matches) inGroup++
      }
      group.hidden = inGroup === 0
      found += inGroup
    }
    document.getElementById("nothing").hidden = found > 0
  })
}

/** Marks the link of the section that the reader sees. */
const followReader = () => {
  const links = new Map()
  for (const link of document.querySelectorAll("#nav a"))
    links.set(decodeURIComponent(link.hash.slice(1)), link)
  let current
  const mark = (link) => {
    if (link === undefined || link === current) return
    current?.removeAttribute("aria-current")
    link.setAttribute("aria-current", "true")
    current = link
    const nav = document.getElementById("nav")
    const { top, bottom } = link.getBoundingClientRect()
    const frame = nav.getBoundingClientRect()
    if (top < frame.top || bottom > frame.bottom) nav.scrollTop += top - frame.top - frame.height / 3
  }
  const sections = [...document.querySelectorAll("main section[id]")]
  let isWaiting = false
  const look = () => {
    isWaiting = false
    const read = sections.findLast((section) => section.getBoundingClientRect().top < readingLine)
    mark(links.get((read ?? sections[0]).id))
  }
  document.addEventListener(
    "scroll",
    () => {
      if (isWaiting) return
      isWaiting = true
      requestAnimationFrame(look)
    },
    { passive: true },
  )
  look()
}

/** The last section whose heading is above this line, in pixels from the top, is the current one. */
const readingLine = 160

/** A link to a problem opens it. */
const openTarget = () => {
  const target =
    location.hash === "" ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)))
  const details = target?.querySelector(":scope > details")
  if (details) details.open = true
}

document.addEventListener("DOMContentLoaded", () => {
  showTheme()
  addAuthorize()
  showAddress()
  addCopyButtons()
  addMenu()
  addFilter()
  followReader()
  openTarget()
  addEventListener("hashchange", openTarget)
})
