/** The calls about keys and sessions. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { describeCall } from "./describeCall.ts"
import {
  ConfirmKeys,
  ConfirmKeysAnswer,
  CreateKey,
  CreateSession,
  EndSession,
  EndSessionAnswer,
  GetKey,
  GetSelf,
  KeyAnswer,
  ListKeysAnswer,
  makeListKeys,
  NewKeyAnswer,
  RevokeKey,
  RevokeLeakedKey,
  RevokeLeakedKeyAnswer,
  RotateKey,
  SelfAnswer,
  SessionAnswer,
} from "./Keys.ts"
import type { Limits } from "./Limits.ts"
import { commonProblems, KeyChangeRefused, KeyNotFound } from "./Problem.ts"

const keyProblems = [...commonProblems, KeyNotFound, KeyChangeRefused] as const
const one = { id: "7sKq20XbnR" }
const leaked = { apiKey: "pnct_7sKq20XbnR_0dJp3yC7uF8Yw5tQxZ2bVnM6sRkLhGaEoTiUcXqWvBz1SVomn" }

const changeEndpoints = () =>
  [
    HttpApiEndpoint.post("create", "/create", {
      payload: CreateKey,
      success: NewKeyAnswer,
      error: [...commonProblems, KeyChangeRefused],
    }).annotateMerge(
      describeCall(
        { action: "keys.manage", isAudited: true, concernsService: true },
        "Create a key",
        { label: "billing service", role: "app", namespaces: ["billing"] },
        "Answers the text of the key, once. A key cannot make a key with more rights than its own. From the first key on, every call needs a key, so the first one must be an administrator's.",
      ),
    ),
    HttpApiEndpoint.post("rotate", "/rotate", {
      payload: RotateKey,
      success: NewKeyAnswer,
      error: keyProblems,
    }).annotateMerge(
      describeCall(
        { action: "keys.manage", isAudited: true },
        "Give a key a new text",
        { ...one, grace: "1h" },
        "The id and the rights stay the same. The present text works for the time of grace, so that clients can change over.",
      ),
    ),
    HttpApiEndpoint.post("revoke", "/revoke", {
      payload: RevokeKey,
      success: KeyAnswer,
      error: keyProblems,
    }).annotateMerge(
      describeCall(
        { action: "keys.manage", isAudited: true },
        "Revoke a key",
        one,
        "The key stops working on every node within a second, for good.",
      ),
    ),
    HttpApiEndpoint.post("revokeLeaked", "/revokeLeaked", {
      payload: RevokeLeakedKey,
      success: RevokeLeakedKeyAnswer,
      error: keyProblems,
    }).annotateMerge(
      describeCall(
        { action: "none", needsNoKey: true, isAudited: true },
        "Revoke a key by its text",
        leaked,
        "For whoever finds a key in a wrong place. The caller needs no other key.",
      ),
    ),
    HttpApiEndpoint.post("confirm", "/confirm", {
      payload: ConfirmKeys,
      success: ConfirmKeysAnswer,
      error: keyProblems,
    }).annotateMerge(
      describeCall(
        { action: "keys.manage", isAudited: true },
        "Confirm keys after a restore",
        { all: true },
        "After the store was restored from a backup, its keys do not work until an administrator confirms them. A backup may contain keys that were revoked later: look at the list first.",
      ),
    ),
  ] as const

/** Who calls. The Service Agent answers it, too. */
const selfEndpoint = () =>
  HttpApiEndpoint.post("self", "/self", {
    payload: GetSelf,
    success: SelfAnswer,
    error: commonProblems,
  }).annotateMerge(
    describeCall(
      { action: "none" },
      "Show the caller",
      {},
      "Answers who the caller is and what the caller may do. Any valid key is enough.",
    ),
  )

/** The part of the calls about keys that a product without keys of its own has. */
export const selfGroup = () =>
  HttpApiGroup.make("keys")
    .add(selfEndpoint())
    .prefix("/keys")
    .annotateMerge(OpenApi.annotations({ title: "Keys", description: "Who may call the agent." }))

export const makeKeysGroup = (limits: Limits) =>
  HttpApiGroup.make("keys")
    .add(
      ...changeEndpoints(),
      HttpApiEndpoint.post("get", "/get", {
        payload: GetKey,
        success: KeyAnswer,
        error: [...commonProblems, KeyNotFound],
      }).annotateMerge(
        describeCall({ action: "keys.manage" }, "Get a key", one, "Answers the key without its text."),
      ),
      HttpApiEndpoint.post("list", "/list", {
        payload: makeListKeys(limits),
        success: ListKeysAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "keys.manage" },
          "List keys",
          { limit: 50 },
          "Answers all keys, the newest first, also those that have ended.",
        ),
      ),
      selfEndpoint(),
    )
    .prefix("/keys")
    .annotateMerge(OpenApi.annotations({ title: "Keys", description: "Who may call the service." }))

export const sessionsGroup = () =>
  HttpApiGroup.make("sessions")
    .add(
      HttpApiEndpoint.post("create", "/create", {
        payload: CreateSession,
        success: SessionAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "none", needsNoKey: true },
          "Begin a session",
          leaked,
          "Exchanges a key for a cookie that scripts cannot read. The console uses it. Programs send their key with each call instead.",
        ),
      ),
      HttpApiEndpoint.post("end", "/end", {
        payload: EndSession,
        success: EndSessionAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "none", needsNoKey: true },
          "End a session",
          {},
          "Removes the cookie from the browser.",
        ),
      ),
    )
    .prefix("/sessions")
    .annotateMerge(OpenApi.annotations({ title: "Sessions", description: "Sessions of the console." }))
