// The key that a command sends to a service. It comes from a file or from the environment, never from the command line,
// which other users of the machine can see.
import { isLoopbackHost } from "@punctual/door/hostAndPort"
import { type Environment, settingTexts } from "./Configuration.ts"
import { readSecretFile, type SecretRead } from "./readSecretFile.ts"
import { apiKeyFileName, apiKeyName, settings } from "./Settings.ts"

export interface ClientKey {
  readonly text: string
  /** Where it comes from, for messages: a flag or a setting, with the file. */
  readonly source: string
}

export interface ClientKeyRead {
  /** Absent if no key is given. */
  readonly key?: ClientKey
  /** Why the administrator's key file gives no key although it is set, as a whole sentence. */
  readonly whyNoAdminKey?: string
}

export interface ClientKeyWanted {
  /** The value of `keyFileFlag`. */
  readonly keyFile?: string | undefined
  /** The URL of the service that gets the key. */
  readonly url: string
}

export const keyFileFlag = "--key-file"
const adminFileName = settings.adminKeyFile.name

/** Visible ASCII without spaces: whatever is in the file, it cannot add a header to a request. */
const keyForm = /^[\x21-\x7e]{1,512}$/
const keyFormText = "1 to 512 visible ASCII characters without spaces"

/** The flag wins over the settings. The administrator's key file is used if nothing else is given. */
export const readClientKey = (
  environment: Environment,
  { keyFile, url }: ClientKeyWanted,
): ClientKeyRead | { readonly problem: string } => {
  if (keyFile !== undefined) return keyIn(keyFileFlag, keyFile)
  // A settings file that this user cannot read concerns the service. The command works without it.
  const { texts } = settingTexts(environment, [], [])
  const [text = "", file = ""] = [texts[apiKeyName], texts[apiKeyFileName]]
  if (text !== "" && file !== "") {
    return { problem: `${apiKeyName} and ${apiKeyFileName} mean the same: set only one of them.` }
  }
  if (text !== "") return keyOf(apiKeyName, text.trim())
  if (file !== "") return keyIn(apiKeyFileName, file)
  const adminFile = texts[adminFileName] ?? ""
  return adminFile === "" ? {} : adminKeyFor(url, adminFile)
}

/** The key in the administrator's file, for `punctual keys admin`. */
export const readAdminKey = (environment: Environment): SecretRead => {
  const problems: Array<string> = []
  const path = settingTexts(environment, problems, []).texts[adminFileName] ?? ""
  if (problems.length > 0) return { problem: problems.join(" ") }
  if (path === "") {
    return {
      problem: `${adminFileName} is not set, so there is no administrator's key file. To make a key in the store, run punctual keys create --admin.`,
    }
  }
  const read = keyIn(adminFileName, path)
  return "problem" in read ? read : { value: read.key.text }
}

/** This key may do everything, so it goes to no other machine unless somebody asks for it. */
const adminKeyFor = (url: string, path: string): ClientKeyRead => {
  if (!isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ""))) {
    return {
      whyNoAdminKey: `The key in ${adminFileName} is only sent to this machine; to send it elsewhere, use ${keyFileFlag}.`,
    }
  }
  const read = keyIn(adminFileName, path)
  return "problem" in read ? { whyNoAdminKey: read.problem } : read
}

const keyIn = (name: string, path: string): { readonly key: ClientKey } | { readonly problem: string } => {
  if (path.trim() === "") return { problem: `${name} is empty: give the path of a file.` }
  const read = readSecretFile(path)
  return "problem" in read
    ? { problem: `${name} ${read.problem}: ${path}` }
    : keyOf(`${name} (${path})`, read.value)
}

const keyOf = (source: string, text: string): { readonly key: ClientKey } | { readonly problem: string } =>
  keyForm.test(text)
    ? { key: { text, source } }
    : { problem: `${source} contains no key: it must be one line of ${keyFormText}.` }
