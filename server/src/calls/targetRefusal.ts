// Why the egress rules refuse a target, without a lookup. Only webhooks have addresses.
import type { Target } from "../domain/Timer.ts"
import type { Deliverers } from "../ports/Deliverer.ts"

export const targetRefusal =
  (byType: Deliverers["Service"]["byType"]) =>
  (target: Target): string | undefined =>
    target.type === "webhook" ? byType.get("webhook")?.gate?.refusalOf(target.url) : undefined
