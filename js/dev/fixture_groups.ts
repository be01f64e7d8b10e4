/** Scores in which one teacher has another tokenizer: tokens are compared in twos, and some not at all. */
import { float32, int32 } from "../src/model/codec";
import type { ScoresTrait } from "../src/model/contract";

/** Every third token from 2 on is in no group; the two between are one. */
const groupAt = (token: number): number => (token % 3 === 2 ? -1 : Math.floor(token / 3));

/** Gives a teacher such groups: a pair's value stands at its second token, the sum of both. */
export function withGroups(trait: ScoresTrait, teacher: string): ScoresTrait {
  const { meta } = trait;
  const groups = new Int32Array(meta.tokens);
  const values = float32(trait.values, meta.planes.length * meta.tokens, "values").slice();
  for (const { offset, length } of meta.rollouts) {
    for (let i = 0; i < length; i++) groups[offset + i] = groupAt(i);
    for (const [row, plane] of meta.planes.entries()) {
      if (plane.teacher !== teacher) continue;
      const at = row * meta.tokens + offset;
      for (let i = 0; i < length; i++) {
        if (i % 3 === 2) values[at + i] = Number.NaN;
        else if (i % 3 === 1) {
          values[at + i] += values[at + i - 1];
          values[at + i - 1] = Number.NaN;
        }
      }
    }
  }
  const rollouts = meta.rollouts.map((r) => {
    const count = Math.ceil(r.length / 3);
    const texts = Array.from({ length: count }, (_, g) => [`<b>${g}</b>`, "x", "y"]);
    return { ...r, other_tokens: { [teacher]: texts } };
  });
  return {
    ...trait,
    meta: { ...meta, rollouts },
    values: new DataView(values.buffer),
    groups: { [teacher]: new DataView(groups.buffer) },
  };
}

/** The groups of one rollout, read back. */
export const groupsOf = (trait: ScoresTrait, teacher: string, rollout: number): number[] => {
  const { offset, length } = trait.meta.rollouts[rollout];
  const all = int32(trait.groups![teacher], trait.meta.tokens, "groups");
  return [...all.subarray(offset, offset + length)];
};
