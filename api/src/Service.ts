/** `/service/…` and `/breakers/…`: calls for operators that concern all namespaces. */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { described } from "./described.ts"
import { emptyBody } from "./emptyBody.ts"
import { Instant } from "./Instant.ts"
import { makeWrittenReason } from "./WrittenReason.ts"

const settingsMessage = "must be true"

export const GetService = Schema.Struct({
  settings: Schema.optionalKey(
    Schema.Literal(true).annotate({
      message: settingsMessage,
      description: "Also answer the settings in force.",
    }),
  ),
}).annotate({ message: "must be a JSON object", identifier: "GetService" })
export type GetService = typeof GetService.Type

export const PauseService = Schema.Struct({
  reason: Schema.optionalKey(makeWrittenReason("Why. /service/get shows it.")),
}).annotate({ message: "must be a JSON object", identifier: "PauseService" })
export type PauseService = typeof PauseService.Type

export const ResumeService = Schema.Struct({
  fireOverdue: Schema.optionalKey(
    Schema.Literal(true).annotate({
      message: "must be true",
      description:
        "Needed after a restore from a backup: all timers that became due since the backup fire at once.",
    }),
  ),
}).annotate({ message: "must be a JSON object", identifier: "ResumeService" })
export type ResumeService = typeof ResumeService.Type

const Pause = Schema.Struct({
  since: Instant,
  kind: Schema.Literals(["asked", "restored"]).annotate({
    description: "asked: an operator paused the service; restored: the store was restored from a backup.",
  }),
  reason: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "Pause" })

const ServiceBuild = Schema.Struct({
  version: Schema.String,
  commit: Schema.optionalKey(Schema.String),
  builtAt: Schema.optionalKey(Schema.String),
}).annotate({
  identifier: "ServiceBuild",
  description: "Which program answers. One that runs from its sources has no commit and no builtAt.",
})

const SettingInForce = Schema.Struct({
  name: Schema.String,
  value: Schema.String.annotate({ description: "As an operator writes it, without secrets." }),
  isSet: Schema.Boolean.annotate({ description: "An operator set it. Otherwise it has its default." }),
}).annotate({ identifier: "SettingInForce", description: "A setting of the node that answers." })

export const ServiceAnswer = Schema.Struct({
  now: Instant.pipe(described("The time of the service, by which timers fire.")),
  pause: Schema.optionalKey(
    Pause.annotate({ description: "Present while all firing is paused. The service still accepts timers." }),
  ),
  build: Schema.optionalKey(ServiceBuild),
  settings: Schema.optionalKey(
    Schema.Array(SettingInForce).annotate({
      description:
        "Present if the request asked for it. A setting that has no default is here only if it is set.",
    }),
  ),
}).annotate({ identifier: "ServiceAnswer", description: "The service as a whole." })
export type ServiceAnswer = typeof ServiceAnswer.Type

export const ListBreakers = emptyBody("ListBreakers")
export type ListBreakers = typeof ListBreakers.Type

const Breaker = Schema.Struct({
  host: Schema.String,
  namespace: Schema.String,
  failures: Count.annotate({ description: "Failures in a row, up to a limit." }),
  waiting: Count.annotate({ description: "Due timers that wait for the host." }),
  probeInMs: Count.annotate({
    description: "The time until one attempt tests whether the host works again.",
  }),
}).annotate({ identifier: "Breaker", description: "An open breaker: no attempt goes to the host." })

export const ListBreakersAnswer = Schema.Struct({
  node: Schema.String.annotate({ description: "The node that answers. Each node has its own breakers." }),
  breakers: Schema.Array(Breaker),
  more: Schema.optionalKey(
    Schema.Literal(true).annotate({ description: "There are more open breakers than the answer has." }),
  ),
}).annotate({ identifier: "ListBreakersAnswer", description: "Hosts that failed too often in a row." })
export type ListBreakersAnswer = typeof ListBreakersAnswer.Type

const hostMessage = "must be the host of a breaker, as /breakers/list shows it"

export const ResetBreakers = Schema.Struct({
  host: Schema.String.annotate({ message: hostMessage }).check(
    Schema.isBetweenLength(1, 300, { message: hostMessage }),
  ),
}).annotate({ message: "must be a JSON object", identifier: "ResetBreakers" })
export type ResetBreakers = typeof ResetBreakers.Type

export const ResetBreakersAnswer = Schema.Struct({
  node: Schema.String,
  reset: Count.annotate({ description: "How many breakers were closed; 0 if none was open for this host." }),
}).annotate({ identifier: "ResetBreakersAnswer" })
export type ResetBreakersAnswer = typeof ResetBreakersAnswer.Type
