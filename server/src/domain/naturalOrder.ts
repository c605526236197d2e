/**
 * The order of a list if the caller gives none. Lists by id or by due time are ascending. In lists with finished timers the
 * latest come first.
 */
export const naturalOrder = (states: ReadonlyArray<string>, isById: boolean): "asc" | "desc" =>
  isById || states.every((state) => state === "pending") ? "asc" : "desc"
