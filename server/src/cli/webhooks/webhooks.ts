// `punctual webhooks test`: sends one delivery to a URL, and shows what the receiver gets and how Punctual judges the
// answer.
import { randomUUID } from "node:crypto"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { TrialDelivery } from "../../ports/TrialDelivery.ts"
import { answerValue, type CommandInput, serviceFlags } from "../client/ServiceClient.ts"
import { CommandFailed, misuse, Output } from "../frame/CommandRuntime.ts"
import { jsonFlag, secretFileFlag, secretsIn, textFlag } from "../timers/TimerFlags.ts"
import { sentByCommand } from "./sentByCommand.ts"
import { sentByService } from "./sentByService.ts"
import { failureWords, isWell, outcomeText } from "./TestOutcome.ts"

export const webhooksCommand = (input: CommandInput, deliver: TrialDelivery) =>
  Command.make("webhooks").pipe(
    Command.withDescription("Try out a receiver of webhooks."),
    Command.withShortDescription("Send a test delivery to a URL"),
    Command.withSubcommands([testCommand(input, deliver)]),
  )

const samplePayload = '{"message":"A test delivery of Punctual."}'

const testCommand = (input: CommandInput, deliver: TrialDelivery) =>
  Command.make(
    "test",
    {
      target: Argument.String("URL").pipe(
        Argument.filter(isHttpUrl, () => "a URL that begins with http:// or https://"),
        Argument.withDescription("The URL of the receiver"),
      ),
      namespace: textFlag(
        "namespace",
        "NAMESPACE",
        "Let the service send the delivery, as a timer of this namespace",
      ),
      secret: Flag.String("secret").pipe(
        Flag.withMetavar("whsec_…"),
        Flag.withDescription(
          "Let the command send the delivery, signed with this secret; if you give the flag twice, both secrets sign",
        ),
        Flag.atMost(2),
      ),
      secretFile: secretFileFlag,
      payload: jsonFlag("payload", "The payload to deliver: any JSON"),
      ...serviceFlags(input),
    },
    ({ target, namespace, secret, secretFile, payload: given, service, json }) =>
      Effect.gen(function* () {
        const wrong = (message: string) => Effect.fail(misuse(["webhooks", "test"], message))
        const isDirect = secret.length > 0 || Option.isSome(secretFile)
        if (isDirect === Option.isSome(namespace)) {
          return yield* wrong(
            "Say who sends the delivery: --namespace for the service, or --secret for the command itself.",
          )
        }
        const texts = [
          ...secret,
          ...(Option.isSome(secretFile) ? yield* secretsIn(input, secretFile.value) : []),
        ]
        const secrets = texts.flatMap((text) => secretBytes(text) ?? [])
        if (secrets.length < texts.length)
          return yield* wrong("A secret must be whsec_ followed by 24 to 64 bytes in base64.")
        const payload = Option.isSome(given) ? given.value.text : samplePayload
        const timerId = `webhook-test-${randomUUID()}`
        const outcome = yield* Option.isSome(namespace)
          ? sentByService({ service, namespace: namespace.value, url: target, payload, timerId })
          : sentByCommand(deliver, { url: target, secrets, payload, timerId })
        if (json) yield* answerValue({ url: target, ...outcome })
        else yield* (yield* Output).answer(outcomeText(target, outcome))
        if (!isWell(outcome)) return yield* new CommandFailed({ message: failureWords(outcome) })
      }),
  ).pipe(
    Command.withDescription(
      [
        "Send one test delivery to a URL. Show the answer and how Punctual judges it.",
        "  With --namespace the service sends it: a timer of the namespace, due now, signed with the namespace's secrets and",
        "  under the service's egress rules. The command cancels the timer after the first attempt; the history shows it for",
        "  a time. If the egress rules do not allow the address, nothing is sent, and the output says why. If the receiver",
        "  refuses permanently (400, 410, 422), the timer dies. Then the service really calls the onDead target of the",
        "  namespace, if it has one. The output says whether it does.",
        "  Use --namespace to see whether real timers would get through.",
        "  With --secret or --secret-file the command sends it from this machine, without a service, and also shows",
        "  every header and the body as the receiver gets them. Use this when you write a receiver.",
        "  The exit code is 0 if it was delivered, 1 if not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Send one signed test delivery to a URL"),
    Command.withExamples([
      { command: "punctual webhooks test https://example.com/hook --namespace billing" },
      { command: "punctual webhooks test http://127.0.0.1:9000/hook --secret-file secret.txt" },
    ]),
  )

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
