// What the process of the readers shall do. The bench hands this to the process as JSON.
export interface ReaderTerms {
  readonly url: string
  /** Clients that call the API like an open page. */
  readonly apiReaders: number
  /** Real pages in Chromium. */
  readonly pages: number
}
