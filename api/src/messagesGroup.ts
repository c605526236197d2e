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
          { action: "bus.read" },
          "List undeliverable messages",
          { namespace: "billing", limit: 50 },
          "Messages of the bus that could not be handled, oldest first: of a namespace, or of all. Bodies are cut.",
        ),
      ),
      HttpApiEndpoint.post("get", "/get", {
        payload: GetMessage,
        success: MessageAnswer,
        error: messageProblems,
      }).annotateMerge(
        describeCall({ action: "bus.read" }, "Get an undeliverable message", message, "With its whole body."),
      ),
      HttpApiEndpoint.post("replay", "/replay", {
        payload: ReplayMessage,
        success: ReplayMessageAnswer,
        error: messageProblems,
      }).annotateMerge(
        describeCall(
          { action: "bus.write" },
          "Replay an undeliverable message",
          message,
          "It goes to the group that could not handle it, as it first came, and is no longer kept here.",
        ),
      ),
      HttpApiEndpoint.post("discard", "/discard", {
        payload: DiscardMessage,
        success: DiscardMessageAnswer,
        error: messageProblems,
      }).annotateMerge(
        describeCall(
          { action: "bus.write" },
          "Discard an undeliverable message",
          message,
          "It is removed for good.",
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
