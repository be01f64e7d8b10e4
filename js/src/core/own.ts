/** What a table holds under a word from the data: "constructor" is in every object, and in no table. */
export const own = <T>(table: Readonly<Record<string, T>> | undefined, word: string): T | undefined =>
  table && Object.hasOwn(table, word) ? table[word] : undefined;
