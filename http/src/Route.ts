// The handler of one path.
import type { HttpAnswer } from "./HttpAnswer.ts"
import type { HttpRequest } from "./HttpRequest.ts"

export interface Route {
  readonly methods: ReadonlyArray<string>
  /** Called for any method. A route answers 405 to a method that it does not accept. */
  handle(request: HttpRequest): Promise<HttpAnswer>
}
