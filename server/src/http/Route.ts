// What the service does at one path.

export interface Route {
  readonly methods: ReadonlyArray<string>
  /** Called for any method: a route answers those it does not take with 405. */
  handle(request: Request): Promise<Response>
}
