/** The calls for operators. They are apart from the client, so that a program with timers only stays small. */
import type {
  AuditRecord,
  ConfirmKeys,
  ConfirmKeysAnswer,
  CreateKey,
  CreateSession,
  DiscardMessage,
  DiscardMessageAnswer,
  EndSessionAnswer,
  GetKey,
  GetMessage,
  Key,
  KeyAnswer,
  ListAudit,
  ListAuditAnswer,
  ListedMessage,
  ListKeys,
  ListKeysAnswer,
  ListMessages,
  ListMessagesAnswer,
  MessageAnswer,
  NewKeyAnswer,
  ReplayMessage,
  ReplayMessageAnswer,
  RevokeKey,
  RevokeLeakedKey,
  RevokeLeakedKeyAnswer,
  RotateKey,
  SelfAnswer,
  SessionAnswer,
  StoredMessage,
} from "./contract/access.ts"
import type {
  AbortBulk,
  AdvanceClock,
  AdvanceClockAnswer,
  BulkAnswer,
  BulkJob,
  CheckEgress,
  CheckEgressAnswer,
  ClusterAnswer,
  GetBulk,
  GetNamespace,
  GetService,
  ListBreakersAnswer,
  ListBulk,
  ListBulkAnswer,
  ListNamespaces,
  ListNamespacesAnswer,
  NamespaceAnswer,
  NamespaceView,
  PauseService,
  PutNamespace,
  PutNamespaceAnswer,
  ResetBreakers,
  ResetBreakersAnswer,
  ResumeService,
  ServiceAnswer,
  StartBulk,
} from "./contract/operators.ts"
import type { Caller } from "./core/Caller.ts"
import { inNamespace, inScope, withInstants } from "./core/completeRequest.ts"
import type { CallOptions } from "./core/options.ts"
import type { Paged } from "./core/Paged.ts"
import { eventStream, type StreamEvent, type StreamEvents } from "./events.ts"
import { Punctual } from "./Punctual.ts"

export type * from "./contract/access.ts"
export type * from "./contract/operators.ts"
export type { StreamEvent, StreamEvents } from "./events.ts"

/** The calls for operators, through a client: `admin(punctual).namespaces.put({ paused: true })`. */
export const admin = (punctual: Punctual): Admin => adminOf(Punctual.callerOf(punctual))

/** The calls for operators, by group. */
export type Admin = ReturnType<typeof adminOf>

const adminOf = (caller: Caller) => ({
  bulk: bulkOf(caller),
  namespaces: namespacesOf(caller),
  service: serviceOf(caller),
  breakers: breakersOf(caller),
  keys: keysOf(caller),
  sessions: sessionsOf(caller),
  messages: messagesOf(caller),
  audit: {
    /** What operators did, latest first. */
    list: (request: ListAudit = {}, options?: CallOptions): Paged<AuditRecord> =>
      caller.list("audit.list", withInstants(request), (page: ListAuditAnswer) => page.records, options),
  },
  egress: {
    /** Whether the service may call a URL, and why. */
    check: (request: CheckEgress, options?: CallOptions): Promise<CheckEgressAnswer> =>
      caller.call("egress.check", request, options),
  },
  clock: {
    /** Moves a manual clock. All timers that become due on the way fire before this returns. */
    advance: (request: AdvanceClock, options?: CallOptions): Promise<AdvanceClockAnswer> =>
      caller.call("clock.advance", withInstants(request), options),
  },
  /** The nodes and their shards. */
  cluster: (options?: CallOptions): Promise<ClusterAnswer> => caller.call("cluster.cluster", {}, options),
  events: {
    /** What happens to timers, as it happens. For watching: a program that must not miss anything uses webhooks. */
    stream: (request: StreamEvents = {}, options?: CallOptions): AsyncIterable<StreamEvent> =>
      eventStream(caller, request, options),
  },
})

/** Jobs that replay, discard or cancel many timers, also of several namespaces. */
const bulkOf = (caller: Caller) => ({
  /** Starts a job. Never repeated after a time-out: look with `list` first. */
  start: async (request: StartBulk, options?: CallOptions): Promise<BulkJob> => {
    const fields = { ...request, filter: inScope(caller, request.filter) }
    return (await caller.call<BulkAnswer>("bulk.start", fields, options)).job
  },
  /** The progress of a job. */
  get: async (request: GetBulk, options?: CallOptions): Promise<BulkJob> =>
    (await caller.call<BulkAnswer>("bulk.get", request, options)).job,
  /** All jobs, newest first. */
  list: (request: ListBulk = {}, options?: CallOptions): Paged<BulkJob> =>
    caller.list("bulk.list", { ...request }, (page: ListBulkAnswer) => page.jobs, options),
  /** Stops a job. What it has done stays done. */
  abort: async (request: AbortBulk, options?: CallOptions): Promise<BulkJob> =>
    (await caller.call<BulkAnswer>("bulk.abort", request, options)).job,
})

/** Settings of namespaces. */
const namespacesOf = (caller: Caller) => ({
  /** Changes settings: secrets, retry policy, quotas, pause. */
  put: async (request: PutNamespace, options?: CallOptions): Promise<PutNamespaceAnswer> =>
    caller.call("namespaces.put", inNamespace(caller, request), options),
  /** Settings and counts of a namespace. */
  get: async (request: GetNamespace = {}, options?: CallOptions): Promise<NamespaceView> => {
    const fields = inNamespace(caller, request)
    return (await caller.call<NamespaceAnswer>("namespaces.get", fields, options)).settings
  },
  /** All namespaces that the key may read, by name. */
  list: (request: ListNamespaces = {}, options?: CallOptions): Paged<NamespaceView> =>
    caller.list("namespaces.list", { ...request }, (page: ListNamespacesAnswer) => page.namespaces, options),
})

/** The service as a whole. */
const serviceOf = (caller: Caller) => ({
  /** The time of the service, its pause and its program. */
  get: (request: GetService = {}, options?: CallOptions): Promise<ServiceAnswer> =>
    caller.call("service.get", request, options),
  /** Stops all firing. Timers are still accepted. */
  pause: (request: PauseService = {}, options?: CallOptions): Promise<ServiceAnswer> =>
    caller.call("service.pause", request, options),
  /** Starts firing again. */
  resume: (request: ResumeService = {}, options?: CallOptions): Promise<ServiceAnswer> =>
    caller.call("service.resume", request, options),
})

/** Hosts that failed too often in a row. */
const breakersOf = (caller: Caller) => ({
  /** The open breakers of the node that answers. */
  list: (options?: CallOptions): Promise<ListBreakersAnswer> => caller.call("breakers.list", {}, options),
  /** Tries a host again at once. */
  reset: (request: ResetBreakers, options?: CallOptions): Promise<ResetBreakersAnswer> =>
    caller.call("breakers.reset", request, options),
})

/** Who may call the service. */
const keysOf = (caller: Caller) => ({
  /** Makes a key. Never repeated after a time-out, so that there are not two. */
  create: (request: CreateKey, options?: CallOptions): Promise<NewKeyAnswer> =>
    caller.call("keys.create", withInstants(request), options),
  /** Gives a key a new secret. Never repeated after a time-out. */
  rotate: (request: RotateKey, options?: CallOptions): Promise<NewKeyAnswer> =>
    caller.call("keys.rotate", request, options),
  /** Ends a key, on every node within a second. */
  revoke: async (request: RevokeKey, options?: CallOptions): Promise<Key> =>
    (await caller.call<KeyAnswer>("keys.revoke", request, options)).key,
  /** Ends a key that others have seen. */
  revokeLeaked: (request: RevokeLeakedKey, options?: CallOptions): Promise<RevokeLeakedKeyAnswer> =>
    caller.call("keys.revokeLeaked", request, options),
  /** Confirms keys of a restored store. */
  confirm: (request: ConfirmKeys, options?: CallOptions): Promise<ConfirmKeysAnswer> =>
    caller.call("keys.confirm", request, options),
  /** One key, without its secret. */
  get: async (request: GetKey, options?: CallOptions): Promise<Key> =>
    (await caller.call<KeyAnswer>("keys.get", request, options)).key,
  /** All keys, without their secrets. */
  list: (request: ListKeys = {}, options?: CallOptions): Paged<Key> =>
    caller.list("keys.list", { ...request }, (page: ListKeysAnswer) => page.keys, options),
  /** Who calls, and what the caller may do. */
  self: (options?: CallOptions): Promise<SelfAnswer> => caller.call("keys.self", {}, options),
})

/** Cookies in place of keys, for pages. */
const sessionsOf = (caller: Caller) => ({
  /** Exchanges a key for a cookie. Only browsers keep it. */
  create: (request: CreateSession, options?: CallOptions): Promise<SessionAnswer> =>
    caller.call("sessions.create", request, options),
  /** Ends the session of the cookie. */
  end: (options?: CallOptions): Promise<EndSessionAnswer> => caller.call("sessions.end", {}, options),
})

/** Messages from the broker that could not be handled. */
const messagesOf = (caller: Caller) => ({
  /** All messages that could not be handled. */
  list: (request: ListMessages = {}, options?: CallOptions): Paged<ListedMessage> =>
    caller.list("messages.list", { ...request }, (page: ListMessagesAnswer) => page.messages, options),
  /** One message with its content. */
  get: async (request: GetMessage, options?: CallOptions): Promise<StoredMessage> => {
    const fields = inNamespace(caller, request)
    return (await caller.call<MessageAnswer>("messages.get", fields, options)).message
  },
  /** Handles a message again. Never repeated after a time-out. */
  replay: async (request: ReplayMessage, options?: CallOptions): Promise<ReplayMessageAnswer> =>
    caller.call("messages.replay", inNamespace(caller, request), options),
  /** Removes a message. Never repeated after a time-out. */
  discard: async (request: DiscardMessage, options?: CallOptions): Promise<DiscardMessageAnswer> =>
    caller.call("messages.discard", inNamespace(caller, request), options),
})
