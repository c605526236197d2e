/** Help for tests: a real service with a manual clock, a receiver that records, and signed requests. Needs Node or Bun. */
export { type RequestToSign, signedRequest } from "./testing/signedRequest.ts"
export { type Delivery, TestReceiver, type TestReply } from "./testing/TestReceiver.ts"
export { TestService, type TestServiceOptions } from "./testing/TestService.ts"
