// The listener without TLS.
import { listenerSuite } from "./listenerSuite.ts"

listenerSuite()
