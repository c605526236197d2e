// `punctual bulk`: jobs that replay, discard or cancel many timers, also of several namespaces. The service runs them, so
// a job goes on when the command has ended.
import { BulkAnswer, type BulkJob, bulkDeeds, bulkPace, ListBulkAnswer } from "@punctual/api/BulkJobs"
import { CountTimersAnswer, ListTimersAnswer } from "@punctual/api/ListTimers"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { listPages } from "../client/listPages.ts"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import {
  type Answered,
  answerJson,
  answerValue,
  type CommandInput,
  callService,
  type RequestFields,
  serviceFlags,
} from "../client/ServiceClient.ts"
import {
  CommandFailed,
  type CommandRun,
  misuse,
  Output,
  type OutputClosed,
  switchFlag,
} from "../frame/CommandRuntime.ts"
import { countOf } from "../frame/figures.ts"
import { doneText, jobPage, jobTable } from "./BulkView.ts"
import { replayedTimersText } from "./replayedTimers.ts"
import {
  definedIn,
  type Filter,
  filterFields,
  filterFlags,
  namespaceFields,
  namespacesArgument,
  reasonFlag,
  wholeFlag,
} from "./TimerFlags.ts"
import { timerTable } from "./TimerView.ts"
import { pageFlags, whyNotPaging } from "./timersList.ts"

export const bulkCommand = (input: CommandInput) =>
  Command.make("bulk").pipe(
    Command.withDescription(
      [
        "Jobs that replay or discard dead letters, or cancel pending timers, of one namespace or several.",
        "  The service runs a job in the background, and goes on with it after a restart.",
        "  The exit code is 0 if everything was done, 1 if something was not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Jobs on many timers: start, get, list, abort"),
    Command.withSubcommands([
      startCommand(input),
      getCommand(input),
      listCommand(input),
      abortCommand(input),
    ]),
  )

const deedArgument = Argument.Literals("DO", bulkDeeds).pipe(
  Argument.withDescription("What the job does: replay or discard dead letters, or cancel pending timers"),
)

const startCommand = (input: CommandInput) =>
  Command.make(
    "start",
    {
      deed: deedArgument,
      namespaces: namespacesArgument,
      why: Flag.String("why").pipe(
        Flag.withMetavar("TEXT"),
        Flag.withDescription("Why: the job and the audit record show it"),
      ),
      ...filterFlags,
      reason: reasonFlag,
      perSecond: wholeFlag("per-second", 1, `a whole number from 1 to ${bulkPace.max}`).pipe(
        Flag.withDescription(`How many timers to handle in a second (default ${bulkPace.byDefault})`),
        Flag.optional,
      ),
      expect: wholeFlag("expect", 0, "a whole number").pipe(
        Flag.withDescription("The count that you saw (default: the count when the command begins)"),
        Flag.optional,
      ),
      yes: switchFlag("yes", "Starts the job. Without it the command only shows what the job would do"),
      detach: switchFlag("detach", "Does not wait until the job has ended"),
      ...serviceFlags(input),
    },
    (asked) => startOrShow(asked),
  ).pipe(
    Command.withDescription(
      [
        "Start a job on many timers. Without --yes the command shows how many timers match and the first of them,",
        "  and starts nothing. With --yes it starts the job, shows its progress, and waits for its end. If you stop",
        "  the command, the job goes on. It does not start if there are over 10 % more timers than expected.",
      ].join("\n"),
    ),
    Command.withShortDescription("Replay, discard or cancel many timers"),
    Command.withExamples([
      {
        command:
          "punctual bulk start replay 'team-*' --host hooks.example.com --why 'the receiver works again'",
      },
      { command: "punctual bulk start replay billing --why 'the receiver works again' --yes" },
      {
        command:
          "punctual bulk start cancel billing,team-a --tag trial --why 'trials ended' --expect 312 --yes",
      },
    ]),
  )

interface StartAsked extends Filter {
  readonly deed: BulkJob["do"]
  readonly namespaces: ReadonlyArray<string>
  readonly why: string
  readonly perSecond: Option.Option<number>
  readonly expect: Option.Option<number>
  readonly yes: boolean
  readonly detach: boolean
  readonly service: ServiceAddress
  readonly json: boolean
}

const startOrShow = (asked: StartAsked): CommandRun => {
  const { deed, service, json, yes, detach } = asked
  if (deed === "cancel" && Option.isSome(asked.reason ?? Option.none()))
    return Effect.fail(
      misuse(["bulk", "start"], "--reason is only for dead letters: remove it, or use --why."),
    )
  const filter = definedIn({ ...namespaceFields(asked.namespaces), ...filterFields(asked) })
  return Effect.gen(function* () {
    const fields = { ...filter, state: deed === "cancel" ? "pending" : "dead" }
    const counted = yield* callService(service, {
      path: "/timers/count",
      fields,
      answer: CountTimersAnswer,
    })
    if (!yes) return yield* shownFirst(asked, fields, counted.value)
    const started = yield* callService(service, {
      path: "/bulk/start",
      fields: {
        do: deed,
        filter,
        reason: asked.why,
        perSecond: Option.getOrUndefined(asked.perSecond),
        expect: Option.getOrElse(asked.expect, () => counted.value.count),
      },
      answer: BulkAnswer,
    })
    if (detach) return yield* told(started, json)
    const { jobId } = started.value.job
    yield* (yield* Output).remark(`The job ${jobId} has started. To stop it: punctual bulk abort ${jobId}`)
    yield* toldAtEnd(yield* followed(service, started), json)
  })
}

const shownAtFirst = 20

/** What the job would do. Nothing is started, so the command does not succeed. */
const shownFirst = (
  { deed, service, json, namespaces }: StartAsked,
  fields: RequestFields,
  { count, capped }: CountTimersAnswer,
): CommandRun =>
  Effect.gen(function* () {
    const { value: listed, text } = yield* callService(service, {
      path: "/timers/list",
      fields: { ...fields, limit: shownAtFirst },
      answer: ListTimersAnswer,
    })
    if (json) {
      const { timers } = JSON.parse(text) as { readonly timers: ReadonlyArray<unknown> }
      yield* answerValue({ do: deed, count, capped, timers })
    } else {
      const shape = {
        hasPending: deed === "cancel",
        hasFinished: deed !== "cancel",
        hasNamespaces: namespaces.length > 1 || "namespaces" in fields,
      }
      const { answer } = yield* Output
      if (listed.timers.length > 0) yield* answer(`${timerTable(listed.timers, shape, undefined)}\n`)
      const many = `${capped ? "at least " : ""}${countOf(count, "timer")}`
      const first = count > listed.timers.length ? ` Above are the first ${listed.timers.length}.` : ""
      yield* answer(`The job would ${deed} ${many}.${first}`)
    }
    return yield* new CommandFailed({
      message: `nothing was started. To start the job, add --yes --expect ${count}`,
    })
  })

const jobArgument = Argument.String("JOB").pipe(Argument.withDescription("The id of the job"))

const getCommand = (input: CommandInput) =>
  Command.make(
    "get",
    {
      jobId: jobArgument,
      wait: switchFlag("wait", "Shows the progress, and waits until the job has ended"),
      ...serviceFlags(input),
    },
    ({ jobId, wait, service, json }): CommandRun =>
      Effect.gen(function* () {
        const first = yield* jobOf(service, jobId)
        const answered = wait ? yield* followed(service, first) : first
        const replayed = json ? undefined : yield* replayedTimersText(service, answered.value.job)
        yield* (wait ? toldAtEnd : told)(answered, json, replayed)
      }),
  ).pipe(
    Command.withDescription(
      "Show a job: what it does, how far it is, why it stopped, and what became of the timers that it replayed.",
    ),
    Command.withShortDescription("Show a job"),
    Command.withExamples([
      { command: "punctual bulk get 01b8d832-8600-7000-8000-5d1f0c2ab9e4" },
      { command: "punctual bulk get 01b8d832-8600-7000-8000-5d1f0c2ab9e4 --wait" },
    ]),
  )

const listCommand = (input: CommandInput) =>
  Command.make(
    "list",
    { ...pageFlags, ...serviceFlags(input) },
    ({ limit, cursor, all, service, json }): CommandRun => {
      const wrong = whyNotPaging(["bulk", "list"], { all, limit, cursor })
      if (wrong !== undefined) return Effect.fail(wrong)
      return listPages(
        {
          page: (from) =>
            callService(service, {
              path: "/bulk/list",
              fields: { limit: Option.getOrUndefined(limit), cursor: from },
              answer: ListBulkAnswer,
            }),
          size: ({ jobs }) => jobs.length,
          lines: ({ text }) =>
            (JSON.parse(text) as { readonly jobs: ReadonlyArray<unknown> }).jobs.map((job) =>
              JSON.stringify(job),
            ),
          table: ({ value }) => jobTable(value.jobs),
          none: "No jobs.",
          more: () => "There may be more",
        },
        { all, json, cursor },
      )
    },
  ).pipe(
    Command.withDescription("List jobs, newest first. The service keeps jobs that have ended for 30 days."),
    Command.withShortDescription("List jobs"),
    Command.withExamples([{ command: "punctual bulk list" }, { command: "punctual bulk list --all --json" }]),
  )

const abortCommand = (input: CommandInput) =>
  Command.make(
    "abort",
    { jobId: jobArgument, ...serviceFlags(input) },
    ({ jobId, service, json }): CommandRun =>
      Effect.gen(function* () {
        const answered = yield* callService(service, {
          path: "/bulk/abort",
          fields: { jobId },
          answer: BulkAnswer,
        })
        yield* told(answered, json)
      }),
  ).pipe(
    Command.withDescription("Stop a job. What it has done stays done. A job that has ended stays as it is."),
    Command.withShortDescription("Stop a job"),
    Command.withExamples([{ command: "punctual bulk abort 01b8d832-8600-7000-8000-5d1f0c2ab9e4" }]),
  )

const jobOf = (service: ServiceAddress, jobId: string) =>
  callService(service, { path: "/bulk/get", fields: { jobId }, answer: BulkAnswer })

const askEveryMs = 300

/** Asks until the job has ended, and shows its progress. */
const followed = (
  service: ServiceAddress,
  first: Answered<BulkAnswer>,
): Effect.Effect<Answered<BulkAnswer>, CommandFailed | OutputClosed, Output> =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    const { jobId } = first.value.job
    let answered = yield* jobOf(service, jobId)
    let said = ""
    while (answered.value.job.state === "running") {
      const { job } = answered.value
      const line = `${doneText(job)} …${job.problem === undefined ? "" : ` (${job.problem})`}`
      if (line !== said) yield* remark(line)
      said = line
      yield* Effect.sleep(askEveryMs)
      answered = yield* jobOf(service, jobId)
    }
    return answered
  })

const told = ({ value, text }: Answered<BulkAnswer>, json: boolean, replayed?: string) =>
  json ? answerJson(text) : Effect.flatMap(Output, ({ answer }) => answer(jobPage(value.job, replayed)))

const toldAtEnd = (answered: Answered<BulkAnswer>, json: boolean, replayed?: string): CommandRun =>
  Effect.gen(function* () {
    const { state, problem, done } = answered.value.job
    yield* told(answered, json, replayed)
    if (state !== "done")
      return yield* new CommandFailed({
        message: `the job is ${state}${problem === undefined ? "." : `: ${problem}`}`,
      })
    if (done.skipped !== undefined && done.skipped > 0)
      return yield* new CommandFailed({
        message: `${countOf(done.skipped, "timer")} skipped: ${done.skipped === 1 ? "it stays as it is" : "they stay as they are"}.`,
      })
  })
