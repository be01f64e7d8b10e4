/** How far responses are the same from the start: token by token, by id where both are known, else by what is shown. */

export interface Response {
  /** First token of each cell. */
  starts: readonly number[];
  texts: readonly string[];
  /** Number of tokens. */
  length: number;
  /** null where it is not known. */
  id(token: number): number | null;
}

function sameCell(a: Response, b: Response, cell: number): boolean {
  const [from, to] = [a.starts[cell], a.starts[cell + 1] ?? a.length];
  if (from !== b.starts[cell] || to !== (b.starts[cell + 1] ?? b.length)) return false;
  for (let token = from; token < to; token++) {
    const [mine, theirs] = [a.id(token), b.id(token)];
    if (mine === null || theirs === null) return a.texts[cell] === b.texts[cell];
    if (mine !== theirs) return false;
  }
  return true;
}

/** Number of leading cells that two responses share. */
export function sharedCells(a: Response, b: Response): number {
  const most = Math.min(a.starts.length, b.starts.length);
  let cell = 0;
  while (cell < most && sameCell(a, b, cell)) cell++;
  return cell;
}

export interface Prefix {
  /** Leading cells that all responses share. */
  all: number;
  /** Leading cells shared with at least one other: where this response leaves the last one it went along with. */
  own: number;
  /** With how many others it shares `own` cells. */
  others: number;
}

/** One a response. A response alone shares nothing. */
export function prefixes(responses: readonly Response[]): Prefix[] {
  const n = responses.length;
  const pairs = responses.map(() => new Array<number>(n).fill(0));
  for (let i = 0; i < n; i++)
    for (let j = i + 1; j < n; j++) pairs[i][j] = pairs[j][i] = sharedCells(responses[i], responses[j]);
  const all = n < 2 ? 0 : Math.min(...pairs[0].slice(1));
  return pairs.map((row, i) => {
    const others = row.filter((_, j) => j !== i);
    const own = Math.max(0, ...others);
    return { all, own, others: own > 0 ? others.filter((shared) => shared === own).length : 0 };
  });
}
