/** A due timer that has waited longer than this is late, for the eyes of an operator. */
export const lateMs = 1_000
