// Judges values by the schemas of an OpenAPI document, with a validator that knows nothing of how the document was made.
import { Ajv2020 } from "ajv/dist/2020.js"

export class OpenApiValidator {
  readonly #ajv: Ajv2020

  constructor(document: object) {
    // Formats are checked by the patterns beside them.
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
    this.#ajv.addSchema({ ...document, $id: "document" })
  }

  /** What a value breaks of a schema; nothing if it is as documented. */
  errorsOf(schema: object, value: unknown): ReadonlyArray<string> {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')
    const validate = this.#ajv.compile(JSON.parse(text))
    validate(value)
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}
