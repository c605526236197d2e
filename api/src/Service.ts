/** `/service/…` and `/breakers/…`: what operators stop, start and look at across all namespaces. */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { described } from "./described.ts"
import { emptyBody } from "./emptyBody.ts"
import { Instant } from "./Instant.ts"

export const GetService = emptyBody("GetService")
export type GetService = typeof GetService.Type

const reasonMessage = "must be text of 1 to 200 characters"

export const PauseService = Schema.Struct({
  reason: Schema.optionalKey(
    Schema.String.annotate({ message: reasonMessage }).check(
      Schema.isBetweenLength(1, 200, { message: reasonMessage, description: "For whoever finds it paused." }),
    ),
  ),
}).annotate({ message: "must be a JSON object", identifier: "PauseService" })
export type PauseService = typeof PauseService.Type

export const ResumeService = Schema.Struct({
  fireOverdue: Schema.optionalKey(
    Schema.Literal(true).annotate({
      message: "must be true",
      description:
        "Needed after a restore from a backup: everything that fell due since the backup was made fires at once.",
    }),
  ),
}).annotate({ message: "must be a JSON object", identifier: "ResumeService" })
export type ResumeService = typeof ResumeService.Type

const Pause = Schema.Struct({
  since: Instant,
  kind: Schema.Literals(["asked", "restored"]).annotate({
    description: "By an operator, or by a restore from a backup.",
  }),
  reason: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "Pause" })

export const ServiceAnswer = Schema.Struct({
  now: Instant.pipe(described("The time by which timers fire.")),
  pause: Schema.optionalKey(
    Pause.annotate({ description: "Present while all firing is stopped; timers are accepted all the same." }),
  ),
}).annotate({ identifier: "ServiceAnswer", description: "The service as a whole." })
export type ServiceAnswer = typeof ServiceAnswer.Type

export const ListBreakers = emptyBody("ListBreakers")
export type ListBreakers = typeof ListBreakers.Type

const Breaker = Schema.Struct({
  host: Schema.String,
  namespace: Schema.String,
  failures: Count.annotate({ description: "In a row, as far as it counts them." }),
  waiting: Count.annotate({ description: "Due timers that wait for the host." }),
  probeInMs: Count.annotate({
    description: "Until one attempt is let through to see whether it is well again.",
  }),
}).annotate({ identifier: "Breaker", description: "An open breaker: no attempt goes to its host." })

export const ListBreakersAnswer = Schema.Struct({
  node: Schema.String.annotate({ description: "The node that answers: every node has breakers of its own." }),
  breakers: Schema.Array(Breaker),
  more: Schema.optionalKey(Schema.Literal(true).annotate({ description: "There are more than are shown." })),
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
