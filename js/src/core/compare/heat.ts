/** Steps by tokens as rectangles, one path a colour class: the number of nodes does not grow with rollout or run. */
import { strongest } from "../profile";
import { colourClass, type ScaleSpec } from "../scale";

/** At most so many columns; several tokens in one are drawn as the value farthest from zero. */
export const COLUMNS = 400;

export interface Heat {
  columns: number;
  rows: number;
  /** Path data by colour class, in a box `columns` wide and `rows` high. */
  paths: Map<string, string>;
}

export function heat(rows: readonly ArrayLike<number>[], mask: ArrayLike<number>, spec: ScaleSpec): Heat {
  const length = mask.length;
  const columns = Math.max(1, Math.min(COLUMNS, length));
  const paths = new Map<string, string>();
  rows.forEach((values, row) => {
    let open = "";
    let from = 0;
    const close = (to: number): void => {
      if (open !== "") paths.set(open, `${paths.get(open) ?? ""}M${from} ${row}h${to - from}v1h${from - to}z`);
    };
    for (let c = 0; c < columns && length > 0; c++) {
      const [a, b] = [Math.floor((c * length) / columns), Math.floor(((c + 1) * length) / columns)];
      const name = colourClass(strongest(values, mask, a, Math.max(a + 1, b)), spec);
      if (name === open) continue;
      close(c);
      open = name;
      from = c;
    }
    close(columns);
  });
  return { columns, rows: rows.length, paths };
}
