// Remembers whether commits should check their keys before they write.

/**
 * Whether commits check what their changes expect to find. A commit without these checks is faster. If one of its changes
 * finds something else, the commit changes nothing and is sent again with the checks. A program that reuses keys usually
 * continues to do so, so the next commits check from the start.
 */
export class KeyCheck {
  #commitsLeft = 0

  get isOn(): boolean {
    return this.#commitsLeft > 0
  }

  answered(hasUsedKeys: boolean): void {
    if (hasUsedKeys) this.#commitsLeft = checkedCommits
    else if (this.#commitsLeft > 0) this.#commitsLeft--
  }
}

const checkedCommits = 100
