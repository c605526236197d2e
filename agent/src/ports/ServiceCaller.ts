// Calls other people's services. Laws for every adapter:
//  - A call is made at most once. It does not follow redirects, and does not repeat itself after a failure.
//  - A failed call does not fail the effect: the outcome says how it failed.
//  - A call ends within its time-out. Interrupting the effect ends the call.
//  - At most 64 KiB of the body of an answer is read.
import { Context, type Effect } from "effect"
import type { ErrorMeta, RequestSpec, ResponseMeta } from "../domain/ServiceCall.ts"

/** More of an answer is not stored. */
export const snippetBytesMax = 64 * 1_024

export interface AskedOfService {
  readonly tenantId: string
  readonly request: RequestSpec
  readonly timeoutMs: number
  /** Sent as the header Idempotency-Key, so that the service can recognise the attempt. */
  readonly attemptId: string
}

export type CalledAnswer =
  | { readonly kind: "succeeded"; readonly response: ResponseMeta }
  | { readonly kind: "failed"; readonly error: ErrorMeta }

export class ServiceCaller extends Context.Service<
  ServiceCaller,
  {
    call(asked: AskedOfService): Effect.Effect<CalledAnswer>
    /** Why the rules forbid this URL, if that is certain without a lookup. */
    whyRefused(url: string): string | undefined
  }
>()("punctual/agent/ServiceCaller") {}
