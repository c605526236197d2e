// `punctual timers create` and `update`: the calls that arm a timer. The value of a flag goes into the request
// unchanged, so that the service itself explains what it does not accept.

import { CreateTimerAnswer, type createResults, existingRules } from "@punctual/api/CreateTimer"
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { formatInstant } from "@punctual/api/Instant"
import { expiryRules } from "@punctual/api/OnExpire"
import { UpdateTimerAnswer } from "@punctual/api/UpdateTimer"
import type { RawJson } from "@punctual/client"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  answerJson,
  type CommandInput,
  callService,
  type RequestFields,
  serviceFlags,
} from "../client/ServiceClient.ts"
import { type CommandFailed, misuse, Output, type OutputClosed } from "../frame/CommandRuntime.ts"
import { onDeadFlag, type RetryTerms, retryFlags, retryPolicyOf, whyNotRetry } from "./TermFlags.ts"
import {
  countFlag,
  countGiven,
  durationFlag,
  fileFlag,
  fileJson,
  instantFlag,
  jsonFlag,
  namespaceArgument,
  textFlag,
  timerIdArgument,
} from "./TimerFlags.ts"
import { createFrom, fromFlags, fromHelp } from "./timersFrom.ts"

const termsFlags = {
  at: instantFlag("at", "When to fire: an instant with an offset, such as 2030-01-01T09:00:00Z"),
  delay: durationFlag(
    "delay",
    "When to fire: this long after the service receives the request, such as 90s or 1h30m",
  ),
  to: textFlag("to", "URL", "The target: the URL to call"),
  target: jsonFlag(
    "target",
    'The target as JSON: {"type":"webhook","url":…,"headers":…} or {"type":"event"}',
  ),
  payload: jsonFlag("payload", "The payload to deliver: any JSON"),
  payloadFile: fileFlag("payload-file", "The payload to deliver, from a file"),
  ...retryFlags('How to retry failed attempts: {"maxAttempts":5,"initialInterval":"10s",…}'),
  expireAfter: durationFlag(
    "expire-after",
    "Give up if the first attempt cannot start within this time after the timer is due",
  ),
  onExpire: Flag.Literals("on-expire", expiryRules).pipe(
    Flag.withMetavar("RULE"),
    Flag.withDescription("What to do when the timer expires: make it a dead letter, or drop it"),
    Flag.optional,
  ),
  onDead: onDeadFlag,
  correlationId: textFlag("correlation-id", "ID", "An id of your own that links timers to your data"),
  tags: Flag.String("tag").pipe(
    Flag.withMetavar("TAG"),
    Flag.withDescription("A tag to find the timer by; repeat the flag for up to 10 tags"),
    Flag.atMost(10),
  ),
}

interface Terms extends RetryTerms {
  readonly at: Option.Option<string>
  readonly delay: Option.Option<string>
  readonly to: Option.Option<string>
  readonly target: Option.Option<RawJson>
  readonly payload: Option.Option<RawJson>
  readonly payloadFile: Option.Option<string>
  readonly expireAfter: Option.Option<string>
  readonly onExpire: Option.Option<string>
  readonly onDead: Option.Option<unknown>
  readonly correlationId: Option.Option<string>
  readonly tags: ReadonlyArray<string>
}

/** Reads the payload file last, after all other flags are checked. */
const termsFields = (input: CommandInput, terms: Terms): Effect.Effect<RequestFields, CommandFailed> =>
  Effect.map(
    Option.isSome(terms.payloadFile)
      ? fileJson(input, terms.payloadFile.value)
      : Effect.succeed(Option.getOrUndefined(terms.payload)),
    (payload) => ({
      executeAt: Option.getOrUndefined(terms.at),
      delay: Option.getOrUndefined(terms.delay),
      callbackUrl: Option.getOrUndefined(terms.to),
      target: Option.getOrUndefined(terms.target),
      payload,
      retryPolicy: retryPolicyOf(terms),
      expireAfter: Option.getOrUndefined(terms.expireAfter),
      onExpire: Option.getOrUndefined(terms.onExpire),
      onDead: Option.getOrUndefined(terms.onDead),
      correlationId: Option.getOrUndefined(terms.correlationId),
      tags: terms.tags.length === 0 ? undefined : terms.tags,
    }),
  )

const whens = ({ at, delay }: Terms): number => countGiven(Option.isSome(at), Option.isSome(delay))
const wheres = ({ to, target }: Terms): number => countGiven(Option.isSome(to), Option.isSome(target))
const payloads = ({ payload, payloadFile }: Terms): number =>
  countGiven(Option.isSome(payload), Option.isSome(payloadFile))

const onePayload = "--payload and --payload-file were both given: remove one."

interface CreateAsked {
  readonly namespace: Option.Option<string>
  readonly timerId: Option.Option<string>
  readonly from: Option.Option<string>
  readonly format: Option.Option<string>
  readonly dryRun: boolean
}

const whyNotCreate = (asked: CreateAsked, terms: Terms): string | undefined => {
  const { namespace, timerId, from, format, dryRun } = asked
  if (Option.isSome(from)) {
    const isGiven = (term: unknown) => (Array.isArray(term) ? term.length > 0 : !isNone(term))
    return Option.isSome(timerId) || Object.values(terms).some(isGiven)
      ? "--from can be combined only with NAMESPACE, --on-existing, --format and --dry-run."
      : undefined
  }
  if (Option.isSome(format) || dryRun) return "--format and --dry-run need --from."
  if (Option.isNone(namespace)) return "Give the NAMESPACE, or a file of timers with --from."
  if (whens(terms) === 0) return "Say when to fire: give either --at or --delay."
  if (wheres(terms) === 0) return "Say what to call: give either --to or --target."
  return whyNotTogether(terms)
}

const whyNotTogether = (terms: Terms): string | undefined => {
  if (whens(terms) > 1) return "--at and --delay were both given: remove one."
  if (wheres(terms) > 1) return "--to and --target were both given: remove one."
  return payloads(terms) > 1 ? onePayload : whyNotRetry(terms)
}

export const createTimerCommand = (input: CommandInput) =>
  Command.make(
    "create",
    {
      namespace: namespaceArgument.pipe(
        Argument.withDescription("The namespace; with --from, the namespace of lines without one"),
        Argument.optional,
      ),
      timerId: timerIdArgument.pipe(
        Argument.withDescription("The timer's id; the service makes one if you leave it out"),
        Argument.optional,
      ),
      ...termsFlags,
      traceparent: textFlag("traceparent", "TRACE", "The trace that its webhooks continue, as W3C writes it"),
      ...fromFlags,
      onExisting: Flag.Literals("on-existing", existingRules).pipe(
        Flag.withMetavar("RULE"),
        Flag.withDescription("What to do if a timer with this id is already pending (default replace)"),
        Flag.optional,
      ),
      ...serviceFlags(input),
    },
    ({ namespace, timerId, onExisting, traceparent, service, json, from, format, dryRun, ...terms }) =>
      Effect.gen(function* () {
        const wrong = whyNotCreate({ namespace, timerId, from, format, dryRun }, terms)
        if (wrong !== undefined) return yield* Effect.fail(misuse(["timers", "create"], wrong))
        if (Option.isSome(from)) {
          const defaults = {
            namespace: Option.getOrUndefined(namespace),
            onExisting: Option.getOrUndefined(onExisting),
          }
          return yield* createFrom(input, { from: from.value, format, dryRun, ...defaults, service, json })
        }
        const fields = {
          namespace: Option.getOrUndefined(namespace),
          timerId: Option.getOrUndefined(timerId),
          ...(yield* termsFields(input, terms)),
          traceparent: Option.getOrUndefined(traceparent),
          onExisting: Option.getOrUndefined(onExisting),
        }
        const { value, text } = yield* callService(service, {
          path: "/timers/create",
          fields,
          answer: CreateTimerAnswer,
        })
        if (json) return yield* answerJson(text)
        const { answer } = yield* Output
        yield* answer(`${resultWords[value.result]} ${timerSentence(value.timer)}`)
        yield* remarkWarnings(value.warnings)
      }),
  ).pipe(
    Command.withDescription(
      [
        "Create a timer. The command ends when the timer is on stable storage.",
        "  After a failure you can repeat the command with --at, if nobody moved or cancelled the timer in between.",
        "  With --delay a repeat moves the timer.",
        ...fromHelp,
      ].join("\n"),
    ),
    Command.withShortDescription("Create a timer, or all timers in a file"),
    Command.withExamples([
      { command: "punctual timers create billing invoice-4711 --delay 3d --to https://example.com/hook" },
      {
        command:
          "punctual timers create billing --at 2030-01-01T09:00:00+01:00 --to https://example.com/hook --payload '{\"n\":1}'",
      },
      {
        command:
          'punctual timers create billing invoice-4711 --delay 1h --target \'{"type":"event"}\' --payload-file - < payload.json',
      },
      {
        command:
          "punctual timers create billing invoice-4711 --delay 1h --to https://example.com/hook --retry-waits 1m,1h,1d --on-dead https://example.com/dead",
      },
      { command: "punctual timers create billing --from timers.csv --dry-run" },
      { command: "cat timers.jsonl | punctual timers create --from - --format jsonl" },
    ]),
  )

const resultWords: Readonly<Record<(typeof createResults)[number], string>> = {
  created: "Created",
  replaced: "Replaced",
  unchanged: "Unchanged:",
  alreadyFinished: "Already finished, so nothing changed:",
}

const isNone = (term: unknown): boolean => term === false || (Option.isOption(term) && Option.isNone(term))

const resettable = ["payload", "retryPolicy", "expireAfter", "onDead", "tags"] as const

export const updateTimerCommand = (input: CommandInput) =>
  Command.make(
    "update",
    {
      namespace: namespaceArgument,
      timerId: timerIdArgument,
      ...termsFlags,
      reset: Flag.Literals("reset", resettable).pipe(
        Flag.withMetavar("FIELD"),
        Flag.withDescription(
          "Remove this field or set it back to its default; repeat the flag for several fields",
        ),
        Flag.atMost(resettable.length),
      ),
      ifRevision: countFlag("if-revision", "Only if the timer is at this revision"),
      ...serviceFlags(input),
    },
    ({ namespace, timerId, reset, ifRevision, service, json, ...terms }) =>
      Effect.gen(function* () {
        const wrong = whyNotTogether(terms)
        if (wrong !== undefined) return yield* Effect.fail(misuse(["timers", "update"], wrong))
        const given = yield* termsFields(input, terms)
        const both = reset.find((field) => given[field] !== undefined)
        if (both !== undefined) {
          return yield* Effect.fail(misuse(["timers", "update"], `Give ${both} or reset it, not both.`))
        }
        if (reset.length === 0 && Object.values(given).every((value) => value === undefined)) {
          return yield* Effect.fail(
            misuse(["timers", "update"], "Give at least one flag that changes the timer."),
          )
        }
        const { value, text } = yield* callService(service, {
          path: "/timers/update",
          fields: {
            namespace,
            timerId,
            ...given,
            ...Object.fromEntries(reset.map((field) => [field, null])),
            ifRevision: Option.getOrUndefined(ifRevision),
          },
          answer: UpdateTimerAnswer,
        })
        if (json) return yield* answerJson(text)
        const { answer } = yield* Output
        yield* answer(`Changed ${timerSentence(value.timer)}`)
        yield* remarkWarnings(value.warnings)
      }),
  ).pipe(
    Command.withDescription(
      [
        "Change a pending timer. Fields that you do not name stay as they are. The attempts start again from the first.",
        "  A timer in flight cannot be changed; the exit code is then 1.",
      ].join("\n"),
    ),
    Command.withShortDescription("Change a pending timer"),
    Command.withExamples([
      { command: "punctual timers update billing invoice-4711 --delay 1d" },
      { command: "punctual timers update billing invoice-4711 --reset payload --if-revision 1893456000000" },
    ]),
  )

/** Warnings go to stderr, so that stdout has only the answer. */
const remarkWarnings = (warnings: ReadonlyArray<string> = []): Effect.Effect<void, OutputClosed, Output> =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    for (const warning of warnings) yield* remark(`Warning: ${warning}.`)
  })

const timerSentence = ({ namespace, timerId, revision, fireAt, executeAt }: TimerAnswer["timer"]): string =>
  `${namespace}/${timerId}, for ${formatInstant(fireAt ?? executeAt)}, revision ${revision}.`
