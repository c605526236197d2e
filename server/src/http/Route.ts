// The handler of one path.

export interface Route {
  readonly methods: ReadonlyArray<string>
  /** Called for any method. A route answers 405 to a method that it does not accept. */
  handle(request: Request): Promise<Response>
}
