// The part of the NATS client that Punctual uses. Whoever needs the client imports this file by its path, so that every
// tool resolves the packages from this folder, where `npm ci` has put them when a scheme of NATS was first named.
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
