/** Marks the section that the reader sees in the list of sections, and closes the list when a section is chosen. */

/** A heading counts as reached when it is this near to the top of the window. */
const reachedPixels = 96

export const followSections = (): void => {
  const list = document.getElementById("sections")
  if (list === null) return
  const links = [...list.querySelectorAll("a")]
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))))
  let isWaiting = false
  const mark = (): void => {
    isWaiting = false
    const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2
    const reached = headings.filter((heading) => (heading?.getBoundingClientRect().top ?? 0) <= reachedPixels)
    const current = isAtEnd && scrollY > 0 ? links.length - 1 : reached.length - 1
    links.forEach((link, index) => {
      if (index === current) link.setAttribute("aria-current", "location")
      else link.removeAttribute("aria-current")
    })
    const link = links[current]
    // Only the list scrolls, never the page.
    if (link !== undefined) {
      const middle = link.offsetTop - list.clientHeight / 2
      if (Math.abs(list.scrollTop - middle) > list.clientHeight / 3) list.scrollTop = middle
    }
  }
  addEventListener(
    "scroll",
    () => {
      if (!isWaiting) requestAnimationFrame(mark)
      isWaiting = true
    },
    { passive: true },
  )
  list.addEventListener("click", ({ target }) => {
    if (target instanceof HTMLAnchorElement && list.matches(":popover-open")) list.hidePopover()
  })
  mark()
}
