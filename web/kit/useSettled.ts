/** A value that changes only when the reader has stopped changing it, so that not every letter asks the service. */
import { useEffect, useState } from "react"

const settledMs = 150

export const useSettled = <A>(value: A): A => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settledMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
