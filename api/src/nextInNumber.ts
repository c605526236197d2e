/**
 * The grammar of JSON numbers, byte by byte. A state says which part of a number was read last. The states of numbers
 * begin at 11, so that the scan can use smaller ones for the rest of the grammar.
 */

export const MINUS_SIGN = 11
export const LEADING_ZERO = 12
export const DIGITS = 13
const POINT = 14
export const FRACTION_DIGITS = 15
const EXPONENT = 16
const EXPONENT_SIGN = 17
export const EXPONENT_DIGITS = 18

const ZERO = 0x30

export const isDigit = (byte: number): boolean => byte >= ZERO && byte <= 0x39

export const isHex = (byte: number): boolean =>
  isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)

/** Whether a number may end here. */
export const isWholeNumber = (state: number): boolean =>
  state === LEADING_ZERO || state === DIGITS || state === FRACTION_DIGITS || state === EXPONENT_DIGITS

/** The state after a byte of a number; 0 if the byte does not belong to the number. */
export const nextInNumber = (state: number, byte: number): number => {
  switch (state) {
    case MINUS_SIGN:
      return byte === ZERO ? LEADING_ZERO : isDigit(byte) ? DIGITS : 0
    case POINT:
      return isDigit(byte) ? FRACTION_DIGITS : 0
    case EXPONENT:
      return byte === 0x2b || byte === 0x2d ? EXPONENT_SIGN : isDigit(byte) ? EXPONENT_DIGITS : 0
    case EXPONENT_SIGN:
      return isDigit(byte) ? EXPONENT_DIGITS : 0
    case LEADING_ZERO:
    case DIGITS:
      if (byte === 0x2e) return POINT
      return isExponent(byte) ? EXPONENT : 0
    case FRACTION_DIGITS:
      return isExponent(byte) ? EXPONENT : 0
    default:
      return 0
  }
}

const isExponent = (byte: number): boolean => byte === 0x65 || byte === 0x45
