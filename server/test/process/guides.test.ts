// The guides' commands, run as they stand: every `sh` block of a guide, in order, in one shell, against the real
// service; every `ts` block as a program. `systemctl` starts and stops that service here, as it does where it is
// installed.
import { expect, test } from "bun:test"
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describeUnless } from "../../testkit/describeUnless.ts"
import { fromSource } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const runWithinMs = 90_000

const guide = (name: string): string => readFileSync(join(root, "docs/guides", `${name}.md`), "utf8")

const blocksOf = (text: string, language: "sh" | "ts"): ReadonlyArray<string> =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(([, block]) => block ?? "")

const needed = ["bash", "curl"].filter((program) => Bun.which(program) === null)
// Without them the guides cannot be followed: a failure where CI runs this, and elsewhere a skip that says why.
const isSkipped = needed.length > 0 && process.env["CI"] === undefined
const reason = isSkipped ? `no ${needed.join(" and no ")}` : undefined

describeUnless(reason, "the guides' commands work as they stand", () => {
  test.each(["operate", "backup", "testing", "tune"])(
    "%s",
    async (name) => {
      using folder = new TemporaryFolder()
      const { status, output } = await runShell(folder.path, blocksOf(guide(name), "sh"))
      // With its output, so that a guide that has gone wrong says where.
      expect({ status, output }).toEqual({ status: 0, output })
    },
    runWithinMs + 10_000,
  )

  test("the program of the testing guide", () => {
    using folder = new TemporaryFolder()
    symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"))
    const programs = blocksOf(guide("testing"), "ts")
    expect(programs).toHaveLength(1)
    const file = join(folder.path, "example.ts")
    writeFileSync(file, programs[0] ?? "")
    const { status, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 30_000 })
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  }, 40_000)
})

/** The blocks in one shell that ends at the first command that fails, with a service running and ready. */
const runShell = async (folder: string, blocks: ReadonlyArray<string>) => {
  expect(blocks.length).toBeGreaterThan(0)
  const [port, ...others] = await freePorts(3)
  const script = ["systemctl start punctual", ...blocks, "systemctl stop punctual"].join("\n")
  const shell = spawn("bash", ["-euxo", "pipefail", "-c", withPorts(script, others)], {
    cwd: folder,
    // A group of its own, so that all that it leaves behind can be ended.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: `${shims(folder)}:${process.env["PATH"]}`,
      HOME: folder,
      TIMER_HTTP_PORT: String(port),
      TIMER_URL: `http://127.0.0.1:${port}`,
      TIMER_STORE_URL: "sqlite:./data/punctual.db",
    },
  })
  let output = ""
  const note = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-20_000)
  }
  shell.stdout.on("data", note)
  shell.stderr.on("data", note)
  const tooLong = setTimeout(() => shell.kill("SIGKILL"), runWithinMs)
  try {
    const status = await new Promise<number | null>((resolve) => shell.once("exit", resolve))
    return { status, output }
  } finally {
    clearTimeout(tooLong)
    endGroup(shell.pid)
  }
}

/** Guides name ports that may be taken here. */
const withPorts = (script: string, [service, receiver]: ReadonlyArray<number>): string =>
  script.replaceAll("8090", String(service)).replaceAll("9090", String(receiver))

const shims = (folder: string): string => {
  const place = join(folder, "bin")
  mkdirSync(place)
  const put = (name: string, text: string) => {
    writeFileSync(join(place, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(place, name), 0o755)
  }
  const program = [fromSource.command, ...fromSource.args].map((part) => `'${part}'`).join(" ")
  put("punctual", `exec ${program} "$@"`)
  put(
    "systemctl",
    `case "$1" in
start) punctual serve >> service.log 2>&1 & echo $! > service.pid
  until curl -sf "$TIMER_URL/health/ready" > /dev/null; do kill -0 "$(cat service.pid)" || { cat service.log; exit 1; }; sleep 0.1; done ;;
stop) kill "$(cat service.pid)"; while kill -0 "$(cat service.pid)" 2> /dev/null; do sleep 0.1; done ;;
esac`,
  )
  return place
}

const endGroup = (pid: number | undefined): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // It has ended by itself.
  }
}

/** Free all at once, and so unlike each other. */
const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once("error", reject)
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            if (typeof address === "object" && address !== null) resolve(address.port)
          })
        }),
    ),
  )
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
