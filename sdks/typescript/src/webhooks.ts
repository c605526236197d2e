/** Receive webhooks: a handler that owns the body, and signatures over bytes. */
export { RawJson, rawJson } from "./core/RawJson.ts"
export {
  type Again,
  Dead,
  type Handle,
  type HandlerOptions,
  handler,
  type Memory,
  Retry,
  type WebhookHandler,
} from "./webhook/handler.ts"
export {
  type NodeRequest,
  type NodeResponse,
  type NodeWebhookHandler,
  nodeHandler,
} from "./webhook/nodeHandler.ts"
export type { TimerDead, TimerEvent, TimerFired } from "./webhook/TimerEvent.ts"
export { type Finding, signWebhook, verifyWebhook, type WebhookToVerify } from "./webhook/verify.ts"
