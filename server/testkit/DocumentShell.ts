// Follows a document as a reader would: it runs the blocks in order, in one shell, against the real service. The shell
// ends at the first command that fails. Commands that a reader has installed (`punctual`, `npm` and `systemctl`) run
// the sources of this repository. Hosts and ports in the documents become free ports on this machine.
import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { blocksOf, type DocumentBlock } from "../../scripts/documents.ts"
import { fromSource } from "./ServiceProcess.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

export interface Followed {
  readonly status: number | null
  /** The end of the output, with each command included. */
  readonly output: string
}

export interface DocumentServers {
  /** host:port of a NATS server. */
  readonly broker?: string
  /** host:port of a RabbitMQ server. */
  readonly rabbitmq?: string
  /** host:port of a PostgreSQL server. Its superuser is postgres, without a password. */
  readonly database?: string
}

const root = fileURLToPath(new URL("../../", import.meta.url))
const modulesOf = ({ broker, rabbitmq }: DocumentServers): string => {
  if (broker !== undefined) return join(root, "drivers/nats/node_modules")
  return join(root, rabbitmq === undefined ? "node_modules" : "drivers/rabbitmq/node_modules")
}
const followWithinMs = 240_000
const outputKept = 20_000

/** Ports of the service, of further nodes and of receivers, as the documents name them. */
const namedPorts = ["8080", "8081", "8082", "8083", "8090", "9000", "9001", "9090", "9100"]

/** Another test runs the blocks with these notes. */
const isRunElsewhere = (note: string | undefined): boolean =>
  note !== undefined && (note.startsWith("not run:") || note.startsWith("run: as a repair"))

/** Follows the document in a new folder to its end, or until a command fails. */
export const followDocument = async (path: string, servers: DocumentServers = {}): Promise<Followed> => {
  using folder = new TemporaryFolder()
  const ports = await freePorts(namedPorts.length)
  const here = placesOf(ports, servers)
  const blocks = blocksOf(path).filter(({ note }) => !isRunElsewhere(note))
  const writer = new ScriptWriter(folder.path, here, servers)
  const parts = blocks.map((block) => writer.partOf(block))
  const startsItself = blocks.some(
    ({ language, text }) => language === "sh" && /^.*\bnpm (?:start|run agent)\b/m.test(text),
  )
  const script = startsItself ? parts : ["systemctl start punctual", ...parts, "systemctl stop punctual"]
  prepare(folder.path, here, servers)
  return await runScript(folder.path, [prelude, ...script].join("\n"), {
    TIMER_HTTP_PORT: here("8080"),
    TIMER_URL: here("http://127.0.0.1:8080"),
    AGENT_HTTP_PORT: here("8090"),
  })
}

/** Replaces the hosts and ports of the documents. */
const placesOf = (ports: ReadonlyArray<number>, { broker, rabbitmq, database }: DocumentServers) => {
  const [, brokerPort = "4222"] = (broker ?? "").split(":")
  const byName = new Map(namedPorts.map((name, index) => [name, String(ports[index])]))
  return (text: string): string =>
    text
      .replaceAll(/\b[89]\d{3}\b/g, (port) => byName.get(port) ?? port)
      .replaceAll("127.0.0.1:4222", `127.0.0.1:${brokerPort}`)
      .replaceAll("127.0.0.1:5672", rabbitmq ?? "127.0.0.1:5672")
      .replaceAll("10.0.0.5:5432", database ?? "10.0.0.5:5432")
      .replaceAll("10.0.0.11", "127.0.0.1")
      .replaceAll("TIMER_CONFIG=/etc/", "TIMER_CONFIG=")
      // In a test, nothing listens outside this machine.
      .replaceAll(/(?<![\d.])0\.0\.0\.0(?![\d.])/g, "127.0.0.1")
      .replaceAll("<the output of: openssl rand -hex 32>", "0123456789abcdef".repeat(4))
}

/** Turns blocks into parts of one script, and keeps the files that the parts need. */
class ScriptWriter {
  readonly #folder: string
  readonly #here: (text: string) => string
  readonly #servers: DocumentServers
  #programs = 0
  #terminals = 0
  #files = 0

  constructor(folder: string, here: (text: string) => string, servers: DocumentServers) {
    this.#folder = folder
    this.#here = here
    this.#servers = servers
  }

  partOf(block: DocumentBlock): string {
    const text = this.#here(block.text)
    const [kind, how] = (block.note ?? "").split(/: (.*)/)
    if (kind === "appears in") return this.#untilShown(text, how ?? "")
    if (kind === "printed by") return `diff ${this.#keep(text)} program-${this.#programs}.txt`
    if (how === "each line in its own terminal") return this.#inTerminals(text)
    if (how?.startsWith("with 17 as the id")) return withMessage(text)
    if (block.note !== undefined) throw new Error(`the note of the block is not known: ${block.note}`)
    switch (block.language) {
      case "sh":
        return text
      case "ts":
      case "js":
        return this.#program(text, block.language)
      case "sql":
        return `run-sql ${this.#keep(text)} ${this.#servers.database}`
      case "ini":
        return this.#settingsFile(text)
      case "crontab":
        return text
          .replace(/^(\S+\s+){5}/, "")
          .replaceAll("\\%", "%")
          .replaceAll("/backups/", "backups/")
      default:
        return ""
    }
  }

  /** If the first line of a program names its file, a later command runs it. Any other program runs here. */
  #program(text: string, language: string): string {
    const [, name] = /^\/\/ ([\w.-]+)\n/.exec(text) ?? []
    if (name !== undefined) return `cp ${this.#keep(text)} ${name}`
    const file = `program-${++this.#programs}`
    writeFileSync(join(this.#folder, `${file}.${language}`), text)
    return `'${process.execPath}' ${file}.${language} > ${file}.txt; cat ${file}.txt`
  }

  #inTerminals(text: string): string {
    const lines = text.split("\n").filter((line) => line !== "")
    const started = lines.map((line) => `{ ${line}\n} > terminal-${++this.#terminals}.txt 2>&1 &`)
    const ready = ["$TIMER_URL", ...(/\bnpm run agent\b/.test(text) ? ["127.0.0.1:$AGENT_HTTP_PORT"] : [])]
    return [...started, ...ready.map((url) => `until_done curl -sf "${url}/health/ready"`)].join("\n")
  }

  /** Numbers differ from run to run, so the pattern accepts any number. */
  #untilShown(text: string, terminal: string): string {
    const [, number] = /^terminal (\d+)$/.exec(terminal) ?? []
    const shape = text
      .trim()
      .replaceAll(/[[\]{}()*+?.\\^$|]/g, "\\$&")
      .replaceAll(/\d+/g, "[0-9]+")
    return `until_done grep -E -f ${this.#keep(`${shape}\n`)} terminal-${number}.txt || { cat terminal-*.txt; false; }`
  }

  /** Puts a file of settings where systemctl finds it. systemd checks a unit of systemd. */
  #settingsFile(text: string): string {
    const [, place] = /^# (\/\S+)\n/.exec(text) ?? []
    if (place === undefined) throw new Error("the first line of an ini block must be a comment with its path")
    if (!place.endsWith(".service")) return `cp ${this.#keep(text)} ${basename(place)}`
    const unit = join(this.#folder, basename(place))
    writeFileSync(unit, text.replace("/usr/local/bin/punctual", join(this.#folder, "bin/punctual")))
    return Bun.which("systemd-analyze") === null
      ? ""
      : `said=$(systemd-analyze verify '${unit}' 2>&1); test -z "$said" || { echo "$said"; false; }`
  }

  #keep(text: string): string {
    const file = `kept-${++this.#files}`
    writeFileSync(join(this.#folder, file), text)
    return file
  }
}

/** The commands need an undeliverable message. The script sends one and puts its id in the place of 17. */
const withMessage = (text: string): string => `send-nonsense
until_done first-message
id=$(first-message)
${text.replaceAll(/\b17\b/g, '"$id"')}`

/** The commands that the documents assume, and the packages that their programs import. */
const prepare = (folder: string, here: (text: string) => string, servers: DocumentServers): void => {
  symlinkSync(modulesOf(servers), join(folder, "node_modules"))
  const place = join(folder, "bin")
  mkdirSync(place)
  const put = (name: string, text: string) => {
    writeFileSync(join(place, name), text)
    chmodSync(join(place, name), 0o755)
  }
  const program = [fromSource.command, ...fromSource.args].map((part) => `'${part}'`).join(" ")
  put("punctual", `#!/bin/sh\nexec ${program} "$@"\n`)
  put("npm", `#!/bin/sh\n${npmText(program, here("9000"))}`)
  put("systemctl", `#!/bin/sh\n${systemctlText}`)
  put("run-sql", `#!${process.execPath}\n${runSqlText}`)
  put("first-message", `#!/bin/sh\n${firstMessageText}`)
  put("send-nonsense", `#!${process.execPath}\n${sendNonsenseText(servers.broker)}`)
}

/**
 * The scripts of package.json that run the program, without the installation before them. The receiver listens on the
 * port that replaces its default port.
 */
const npmText = (program: string, receiverPort: string): string => `case "$1" in
start) shift; set -- run start "$@" ;;
esac
test "$1" = run && shift
test "$1" = --silent && shift
script=$1; shift
test "$1" = -- && shift
case "$script" in
start) exec ${program} serve "$@" ;;
agent) exec ${program} agent "$@" ;;
listen) exec ${program} listen --port ${receiverPort} "$@" ;;
punctual) exec ${program} "$@" ;;
*) echo "a document names the script $script, which this test does not know" >&2; exit 1 ;;
esac
`

/** The id of the first undeliverable message. The command fails while there is none. */
const firstMessageText = `id=$(punctual messages list --namespace billing --json | grep -o '"id": *"[^"]*"' | head -1 | cut -d'"' -f4)
test -n "$id" && echo "$id"
`

/** Repeats a command until it succeeds. It gives up after a minute, and does not show each try. */
const prelude = `until_done() {
  local tries=0
  { set +x; } 2> /dev/null
  until "$@" > /dev/null 2>&1; do
    tries=$((tries + 1))
    test $tries -lt 600 || { set -x; echo "gave up: $*"; return 1; }
    sleep 0.1
  done
  set -x
}`

const systemctlText = `case "$1" in
start)
  if [ -f punctual.env ]; then TIMER_CONFIG=punctual.env; export TIMER_CONFIG; fi
  punctual serve >> service.log 2>&1 & echo $! > service.pid
  until curl -sf "$TIMER_URL/health/ready" > /dev/null; do
    kill -0 "$(cat service.pid)" || { cat service.log; exit 1; }
    sleep 0.1
  done ;;
stop)
  pid=$(cat service.pid)
  kill "$pid"
  # Linux keeps the entry of an ended process until its new parent asks for it, which may take a second.
  while kill -0 "$pid" 2> /dev/null && ! grep -qs "^State:.Z" "/proc/$pid/status"; do sleep 0.1; done ;;
esac
`

/** Runs each statement by itself, as psql does. */
const runSqlText = `import { readFileSync } from "node:fs"
const [, , file, address] = process.argv
const sql = new Bun.SQL({ url: \`postgres://postgres@\${address}/postgres\`, max: 1 })
for (const statement of readFileSync(file, "utf8").split(/;\\n/)) if (statement.trim() !== "") await sql.unsafe(statement)
await sql.end()
`

const sendNonsenseText = (
  broker: string | undefined,
): string => `import { connect, jetstream } from "${join(root, "drivers/nats/nats.ts")}"
const connection = await connect({ servers: "${broker}" })
await jetstream(connection).publish("svc.billing.serviceCall", '{"not":"an envelope"}')
await connection.close()
`

const runScript = async (
  folder: string,
  script: string,
  settings: Readonly<Record<string, string>>,
): Promise<Followed> => {
  const shell = spawn("bash", ["-euxo", "pipefail", "-c", script], {
    cwd: folder,
    // A process group of its own lets the test end everything that the script leaves behind.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
      HOME: folder,
      ...settings,
    },
  })
  let output = ""
  const note = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-outputKept)
  }
  shell.stdout.on("data", note)
  shell.stderr.on("data", note)
  const tooLong = setTimeout(() => shell.kill("SIGKILL"), followWithinMs)
  try {
    const status = await new Promise<number | null>((resolve) => shell.once("exit", resolve))
    return { status, output }
  } finally {
    clearTimeout(tooLong)
    endGroup(shell.pid)
  }
}

const endGroup = (pid: number | undefined): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // Every process has already ended.
  }
}

/** All ports are free at the same time, so no two of them are equal. */
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
