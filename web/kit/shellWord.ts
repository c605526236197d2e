/** A word that the shell passes on unchanged. */
export const shellWord = (text: string): string =>
  /^[A-Za-z0-9_./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
