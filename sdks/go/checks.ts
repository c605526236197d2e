// How the Go client is checked: by the tools that Go brings, by staticcheck, and by its tests with the race detector.
import { type ClientChecks, isAtLeast } from "../../scripts/clientChecks.ts"

/** The oldest Go that the module supports, and the newest patch of it. go.mod names the former. */
const oldestGo = "1.23"
const oldestToolchain = "go1.23.12"

/** The version of honnef.co/go/tools, which contains staticcheck. */
const staticcheckVersion = "v0.8.2"
const staticcheck = `$PUNCTUAL_CACHE/staticcheck-${staticcheckVersion}/staticcheck`

/** A step of a shell, for what one program cannot say alone. */
const shell = (text: string): { readonly command: string; readonly args: ReadonlyArray<string> } => ({
  command: "sh",
  args: ["-c", text],
})

/** They run in a module of their own, as those of a user do. */
const runCopiedPrograms = `
  folder="$(mktemp -d)"
  trap 'rm -rf "$folder"' EXIT
  cd "$folder" || exit 1
  go mod init copied
  go mod edit -require punctual.dev/client@v0.0.0 -replace "punctual.dev/client=$OLDPWD"
  "$OLDPWD/../../node_modules/.bin/bun" "$OLDPWD/../harness/copiedPrograms.ts" go "$folder" go run .`

export const goChecks: ClientChecks = {
  name: "Go",
  folder: "sdks/go",
  tools: [
    {
      name: `Go ${oldestGo} or newer`,
      command: "go",
      args: ["version"],
      isGood: (output) => isAtLeast(/\bgo(\d+(?:\.\d+)*)/.exec(output)?.[1], oldestGo),
    },
  ],
  prepare: [
    {
      title: "install staticcheck",
      ...shell(
        `test -x "${staticcheck}" || GOBIN="$(dirname "${staticcheck}")" GOFLAGS= go install honnef.co/go/tools/cmd/staticcheck@${staticcheckVersion}`,
      ),
    },
  ],
  steps: [
    {
      title: "gofmt",
      ...shell('unformatted="$(gofmt -s -l .)"; echo "$unformatted"; test -z "$unformatted"'),
    },
    { title: "go.mod is tidy", command: "go", args: ["mod", "tidy", "-diff"] },
    { title: "vet", command: "go", args: ["vet", "./..."] },
    { title: "staticcheck", ...shell(`"${staticcheck}" -checks all ./...`) },
    {
      title: "tests",
      command: "go",
      args: ["test", "-json", "-race", "-shuffle=on", "-count=1", "-timeout=15m", "./..."],
      report: "goJson",
    },
    { title: "programs that the console copies", ...shell(runCopiedPrograms) },
    {
      title: `tests with Go ${oldestGo}`,
      command: "go",
      args: ["test", "-json", "-count=1", "-timeout=15m", "./..."],
      env: { GOTOOLCHAIN: oldestToolchain },
      report: "goJson",
      needs: "matrix",
    },
  ],
}
