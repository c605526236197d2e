// The part of the NATS client that Punctual uses. Code that needs the client imports this file by its path. So every
// tool resolves the packages from this folder, where `npm ci` puts them when a NATS URL is first configured.
export {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  type StoredMsg,
  type StreamConfig,
} from "@nats-io/jetstream"
export {
  type ConnectionOptions,
  connect,
  createInbox,
  errors,
  headers,
  type Msg,
  type MsgHdrs,
  MsgHdrsImpl,
  millis,
  type NatsConnection,
  nanos,
  type Status,
  type Subscription,
} from "@nats-io/transport-node"
