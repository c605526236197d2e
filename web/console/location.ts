/** The pages of the console and their addresses. */
import { addressOf, type Parameters, usePlaceAmong } from "../kit/places.ts"
import { type PageName, pageNames } from "./pageNames.ts"

export const usePlace = () => usePlaceAmong(pageNames, "timers")

/** A relative address. Parameters that are undefined or empty are left out. */
export const hrefOf = (page: PageName, parameters: Parameters = {}): string => addressOf(page, parameters)
