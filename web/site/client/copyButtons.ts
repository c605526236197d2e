/** A button on each block of code that copies the block. It lies over the block, so nothing moves. */
import { copyText } from "../../kit/copyText.ts"

const saysCopiedForMs = 1_500

export const addCopyButtons = (): void => {
  for (const block of document.querySelectorAll<HTMLElement>(".code[data-language]")) {
    const button = document.createElement("button")
    button.type = "button"
    button.className = "copy"
    const say = (text: string): void => {
      button.textContent = text
    }
    say("Copy")
    button.addEventListener("click", async () => {
      say((await copyText(block.querySelector("code")?.textContent ?? "")) ? "Copied" : "Not copied")
      setTimeout(() => say("Copy"), saysCopiedForMs)
    })
    block.append(button)
  }
}
