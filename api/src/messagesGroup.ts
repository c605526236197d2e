/** The calls about messages of the bus that could not be handled. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { describeCall } from "./describeCall.ts"
import type { Limits } from "./Limits.ts"
import {
  DiscardMessage,
  DiscardMessageAnswer,
  GetMessage,
  ListMessagesAnswer,
  MessageAnswer,
  makeListMessages,
  ReplayMessage,
  ReplayMessageAnswer,
} from "./Messages.ts"
import { BrokerUnavailable, commonProblems, MessageNotFound, MessageRefusedByBus } from "./Problem.ts"

export const makeMessagesGroup = (limits: Limits) =>
  HttpApiGroup.make("messages")
    .add(
      HttpApiEndpoint.post("list", "/list", {
        payload: makeListMessages(limits),
        success: ListMessagesAnswer,
        error: [...commonProblems, MessageRefusedByBus, BrokerUnavailable],
      }).annotateMerge(
        describeCall(
          { action: "bus.read", takesTurns: true },
          "List undeliverable messages",
          { namespace: "billing", limit: 50 },
          "Answers the messages of the bus that could not be handled, oldest first, of one namespace or of all. It has only the beginning of each message.",
        ),
      ),
      HttpApiEndpoint.post("get", "/get", {
        payload: GetMessage,
        success: MessageAnswer,
        error: messageProblems,
      }).annotateMerge(
        describeCall(
          { action: "bus.read" },
          "Get an undeliverable message",
          message,
          "Answers the message with its whole body.",
        ),
      ),
      HttpApiEndpoint.post("replay", "/replay", {
        payload: ReplayMessage,
        success: ReplayMessageAnswer,
        error: messageProblems,
      }).annotateMerge(
        describeCall(
          { action: "bus.write", isAudited: true },
          "Replay an undeliverable message",
          message,
          "Sends the message again, unchanged, to the group that could not handle it, and removes it from this list.",
        ),
      ),
      HttpApiEndpoint.post("discard", "/discard", {
        payload: DiscardMessage,
        success: DiscardMessageAnswer,
        error: messageProblems,
      }).annotateMerge(
        describeCall(
          { action: "bus.write", isAudited: true },
          "Discard an undeliverable message",
          message,
          "Removes the message permanently.",
        ),
      ),
    )
    .prefix("/messages")
    .annotateMerge(
      OpenApi.annotations({
        title: "Messages",
        description: "Messages of the bus that could not be handled.",
      }),
    )

const messageProblems = [...commonProblems, MessageNotFound, MessageRefusedByBus, BrokerUnavailable] as const
const message = { namespace: "billing", id: "17" }
