/** Rollouts' cells from the numbers they travel as. Python's half is `opd_widgets/widgets/wire/cell_table.py`. */
import { CodecError, uint16, uint32 } from "./codec";
import type { Cells, PackedCells, RolloutMeta, WireMeta, WireRollout } from "./contract";

type Numbers = Uint16Array | Uint32Array;
type Looks = { texts: string[]; kinds: string };

const SHORT = 1 << 16;

function startsOf({ count, joined }: PackedCells): number[] {
  const starts = new Array<number>(count);
  let token = 0;
  let next = 0;
  for (let cell = 0; cell < count; cell++) {
    starts[cell] = token;
    if (joined[next] === cell) {
      token += joined[next + 1];
      next += 2;
    } else token++;
  }
  return starts;
}

function unpack(packed: PackedCells, numbers: Numbers, { texts, kinds }: Looks): Cells {
  const own = numbers.subarray(packed.at, packed.at + packed.count);
  return {
    starts: startsOf(packed),
    texts: Array.from(own, (number) => texts[number]),
    kinds: Array.from(own, (number) => kinds[number]).join(""),
  };
}

const isPacked = (cells: Cells | PackedCells): cells is PackedCells => "at" in cells;

/** Cells are unpacked when first looked at: of a run of hundreds of rollouts a reader looks at a few. */
function lazily(record: WireRollout, numbers: Numbers, looks: Looks): RolloutMeta {
  const { cells, ...rest } = record;
  if (!isPacked(cells)) return record as RolloutMeta;
  let made: Cells | null = null;
  return Object.defineProperty(rest as RolloutMeta, "cells", {
    enumerable: true,
    get() {
      made ??= unpack(cells, numbers, looks);
      return made;
    },
  });
}

export function readRollouts(meta: WireMeta, buffer: DataView | undefined): RolloutMeta[] {
  const looks = meta.looks ?? { texts: [], kinds: "" };
  const last = meta.rollouts[meta.rollouts.length - 1]?.cells;
  if (!last || !isPacked(last)) return meta.rollouts as RolloutMeta[];
  if (!buffer) throw new CodecError("cells: no bytes found");
  const count = last.at + last.count;
  const read = looks.texts.length <= SHORT ? uint16 : uint32;
  const numbers = read(buffer, count, "cells");
  return meta.rollouts.map((record) => lazily(record, numbers, looks));
}
