// A promise of the product that a recorded history does not keep.

export type Invariant =
  | "noLoss"
  | "neverEarly"
  | "boundedRepeats"
  | "fencing"
  | "definiteAnswers"
  | "integrity"
  | "conservation"

export interface Violation {
  readonly invariant: Invariant
  readonly message: string
}

export const violation = (invariant: Invariant, message: string): Violation => ({ invariant, message })
