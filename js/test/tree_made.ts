/** Trees made from rollouts, as Python makes them: `opd_widgets/diagnosis/tree.py` is the other half, tests compare both. */
import { ENDINGS, type Ending, QuestionTree, type TreeArrays } from "../src/core/tree/question";

export interface MadeRollout {
  text: string;
  /** How many letters were forced. */
  start?: number;
  ending: Ending;
}

export interface MadeTree {
  rollouts: MadeRollout[];
  /** Prefixes of nodes, with alignment, low and high for each teacher; and what is known of success by prefix. */
  nodes?: { prefix: string; alignments: [number, number, number][]; verdict?: number }[];
  success?: { prefix: string; node?: boolean; mean: number; low: number; high: number }[];
}

const shared = (a: string, b: string): number => {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
};

/** Every prefix that is a place: where rollouts part, begin or end, and what is named. */
function placesOf({ rollouts, nodes = [], success = [] }: MadeTree): string[] {
  const texts = rollouts.map((r) => r.text).sort();
  const found = new Set<string>(["", ...texts, ...rollouts.map((r) => r.text.slice(0, r.start ?? 0))]);
  for (let i = 1; i < texts.length; i++) found.add(texts[i].slice(0, shared(texts[i - 1], texts[i])));
  for (const { prefix } of [...nodes, ...success]) if (texts.some((t) => t.startsWith(prefix))) found.add(prefix);
  return [...found].sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
}

/** One letter is one token. */
export function makeTree(made: MadeTree): QuestionTree {
  const { rollouts, nodes = [], success = [] } = made;
  const places = placesOf(made);
  const at = new Map(places.map((prefix, i) => [prefix, i]));
  const letters = [...new Set(rollouts.flatMap((r) => [...r.text]))].sort();
  const parents = places.map((prefix) => {
    for (let n = prefix.length - 1; n >= 0; n--) {
      const place = at.get(prefix.slice(0, n));
      if (place !== undefined) return place;
    }
    return -1;
  });
  const tokens = places.flatMap((prefix, i) =>
    parents[i] < 0 ? [] : [...prefix.slice(places[parents[i]].length)].map((letter) => letters.indexOf(letter)),
  );
  const known = success.filter(({ prefix }) => at.has(prefix));
  const arrays: TreeArrays = {
    parent: Int32Array.from(parents),
    depth: Int32Array.from(places, (p) => p.length),
    tokens: Uint16Array.from(tokens),
    leaf: Int32Array.from(rollouts, (r) => at.get(r.text) as number),
    begin: Int32Array.from(rollouts, (r) => at.get(r.text.slice(0, r.start ?? 0)) as number),
    ending: Uint8Array.from(rollouts, (r) => ENDINGS.indexOf(r.ending)),
    estimatePlace: Int32Array.from(known, (s) => at.get(s.prefix) as number),
    estimateAtNode: Uint8Array.from(known, (s) => (s.node ? 1 : 0)),
    estimates: Float32Array.from([
      ...known.map((s) => s.mean),
      ...known.map((s) => s.low),
      ...known.map((s) => s.high),
    ]),
    nodePlace: Int32Array.from(nodes, (n) => at.get(n.prefix) ?? -1),
    alignments: Float32Array.from(
      [0, 1, 2].flatMap((end) => nodes.flatMap((n) => n.alignments.map((one) => one[end]))),
    ),
    verdict: Uint8Array.from(nodes.flatMap((n) => n.alignments.map(() => n.verdict ?? 0))),
  };
  return new QuestionTree(
    arrays,
    letters.map((letter) => [letter, letter === " " ? "s" : "t"] as const),
  );
}

/** A tree of so many places that part at random: each has 0 to 3 branches of 1 to 9 tokens, and a rollout ends at each that has none. */
export function largeTree(places: number, seed = 1): QuestionTree {
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const parent = new Int32Array(places).fill(-1);
  const depth = new Int32Array(places);
  const children = new Uint8Array(places);
  for (let place = 1, from = 0; place < places; from++) {
    const wide = from + 1 === place ? 1 + random(3) : random(4);
    for (let n = 0; n < wide && place < places; n++, place++) {
      parent[place] = from;
      depth[place] = depth[from] + 1 + random(9);
      children[from]++;
    }
  }
  const leaf = Int32Array.from([...parent.keys()].filter((place) => children[place] === 0));
  const tokens = Array.from(parent, (above, place) => (above < 0 ? 0 : depth[place] - depth[above])).reduce(
    (a, b) => a + b,
    0,
  );
  const none = new Int32Array(0);
  return new QuestionTree(
    {
      parent,
      depth,
      tokens: Uint16Array.from({ length: tokens }, () => random(26)),
      leaf,
      begin: new Int32Array(leaf.length),
      ending: Uint8Array.from(leaf, () => random(2)),
      estimatePlace: none,
      estimateAtNode: new Uint8Array(0),
      estimates: new Float32Array(0),
      nodePlace: none,
      alignments: new Float32Array(0),
      verdict: new Uint8Array(0),
    },
    Array.from({ length: 26 }, (_, i) => [String.fromCharCode(97 + i), "t"] as const),
  );
}
