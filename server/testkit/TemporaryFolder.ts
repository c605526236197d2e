// A folder of its own for whatever a test writes, gone when the test ends, however it ends.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export class TemporaryFolder implements Disposable {
  readonly path: string

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), "punctual-test-"))
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
