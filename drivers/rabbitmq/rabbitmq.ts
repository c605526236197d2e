// The part of the RabbitMQ client that Punctual uses. Code that needs the client imports this file by its path. So every
// tool resolves the package from this folder, where `npm ci` puts it when a RabbitMQ URL is first configured.
export {
  type Channel,
  type ChannelModel,
  type ConfirmChannel,
  type ConsumeMessage,
  connect,
  type Message,
  type Options,
} from "amqplib"
