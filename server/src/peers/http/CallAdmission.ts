// Decides by the head of a call whether this node carries it out: the caller must prove that it knows the cluster's
// secret, and the call must be for this node, in its protocol, recent and new. A refused call has done nothing.
//
// Nodes of earlier releases do not sign. They send the secret itself, which is accepted only while such a node is a
// member of the cluster, and for a minute after that. The membership is in the store, so nobody on the network can
// claim that there is one.
import { createHash, timingSafeEqual } from "node:crypto"
import { formatDuration } from "@punctual/api/DurationMs"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { Callers, type CallVerdict, defaultCallersOptions } from "./Callers.ts"
import { CallSignature, type SignatureClaims, signatureHeader } from "./CallSignature.ts"
import { callHeader, toHeader, versionHeader } from "./HttpPeers.ts"
import { wireVersion } from "./peerWire.ts"

export interface CallAdmissionOptions {
  /** Shared by all nodes of the cluster. */
  readonly secret: string
  /** The name of this node. It refuses calls for other nodes. */
  readonly node: string
  /** Whether a member of the cluster does not sign its calls, or did not until recently. */
  readonly isSecretAccepted: () => boolean
  readonly nowMs: () => number
  /** How long this process has been able to remember calls. */
  readonly uptimeMs: () => number
}

export type CallDecision =
  /** The body must have the hash. A call that is not signed has none. */
  | { readonly bodyHash: Buffer | undefined }
  | { readonly status: number; readonly refused: string }
  /** The call has arrived before and may have been carried out then. So this is no refusal. */
  | { readonly status: number; readonly repeated: string }

/** How far the time of a signature may be from the clock of this node. */
export const signatureValidForMs = 60_000
/** Both times are whole milliseconds. */
const roundingMs = 1

export class CallAdmission {
  readonly #options: CallAdmissionOptions
  readonly #signature: CallSignature
  readonly #isSecret: (authorization: string | null) => boolean
  readonly #callers = new Callers({ ...defaultCallersOptions, validForMs: signatureValidForMs })

  constructor(options: CallAdmissionOptions) {
    this.#options = options
    this.#signature = new CallSignature(options.secret)
    this.#isSecret = secretCheck(options.secret)
  }

  admit(request: HttpRequest): CallDecision {
    const proof = this.#proofOf(request)
    if ("refused" in proof) return { status: 401, ...proof }
    if (request.method !== "POST") return { status: 405, refused: "use POST" }
    const version = request.headers.get(versionHeader) ?? "none"
    if (version !== String(wireVersion)) return { status: 400, refused: otherVersion(version) }
    if (request.headers.get(toHeader) !== encodeURIComponent(this.#options.node))
      return { status: 421, refused: "the call is for another node, which is no longer at this address" }
    const nowMs = this.#options.nowMs()
    const call = request.headers.get(callHeader) ?? ""
    const verdict = this.#callers.note(call, proof.claims?.signedAtMs ?? nowMs, nowMs)
    return verdict === "new" ? { bodyHash: proof.claims?.bodyHash } : verdicts[verdict]
  }

  /** What the signature claims. There are no claims if the caller sent the secret itself. */
  #proofOf({
    method,
    path,
    headers,
  }: HttpRequest): { readonly claims: SignatureClaims | undefined } | { readonly refused: string } {
    const header = headers.get(signatureHeader)
    if (header === null) return this.#bareProof(headers.get("authorization"))
    const head = {
      method,
      path,
      version: headers.get(versionHeader) ?? "",
      to: headers.get(toHeader) ?? "",
      call: headers.get(callHeader) ?? "",
    }
    const claims = this.#signature.claimsOf(head, header)
    if (claims === undefined)
      return {
        refused: "the signature is wrong: TIMER_CLUSTER_SECRET must be the same on all nodes of a cluster",
      }
    const untimely = this.#whyUntimely(claims.signedAtMs)
    return untimely === undefined ? { claims } : { refused: untimely }
  }

  #bareProof(authorization: string | null): { readonly claims: undefined } | { readonly refused: string } {
    if (!this.#isSecret(authorization)) return { refused: "the call is not signed with the cluster's secret" }
    return this.#options.isSecretAccepted()
      ? { claims: undefined }
      : {
          refused:
            "the call is not signed, and every member of this cluster signs its calls: run one release on all nodes",
        }
  }

  /** A process does not know the calls that its predecessor got, so it refuses calls from before its start. */
  #whyUntimely(signedAtMs: number): string | undefined {
    const nowMs = this.#options.nowMs()
    const ageMs = nowMs - signedAtMs
    const times = `signed at ${instantText(signedAtMs)} by the clock of its caller, and the clock of this node shows ${instantText(nowMs)}`
    if (Math.abs(ageMs) > signatureValidForMs) {
      return `the call was ${times}: they must differ by at most ${formatDuration(signatureValidForMs)}. Check the clocks (NTP) of both nodes`
    }
    return ageMs > this.#options.uptimeMs() + roundingMs
      ? `the call was ${times}: it was signed before this node started. If this happens often, check the clocks (NTP) of both nodes`
      : undefined
  }
}

const verdicts: Readonly<Record<Exclude<CallVerdict, "new">, CallDecision>> = {
  malformed: { status: 409, refused: `the header ${callHeader} is missing or malformed` },
  givenUp: { status: 409, refused: "its caller has given up on it" },
  repeated: { status: 409, repeated: "the same call has arrived before" },
  tooManyCallers: { status: 503, refused: "too many nodes have called within a minute" },
}

const otherVersion = (theirs: string): string =>
  `this node uses version ${wireVersion} of the cluster protocol, not ${theirs}: run one release on all nodes`

/** The latest instant that can be shown, because the form of the header allows later ones. */
const instantText = (ms: number): string => new Date(Math.min(ms, 8.64e15)).toISOString()

/** All digests have the same length, so neither the time nor an error reveals how close a guess was. */
const secretCheck = (secret: string): ((authorization: string | null) => boolean) => {
  const digest = (text: string) => createHash("sha256").update(text).digest()
  const expected = digest(`Bearer ${secret}`)
  return (authorization) => timingSafeEqual(digest(authorization ?? ""), expected)
}
