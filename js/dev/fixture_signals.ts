/** The fixture's signals, computed from its invented distributions. */
import type { SignalMeta } from "../src/model/contract";

const base: SignalMeta = {
  name: "",
  label: "",
  formula: "",
  unit: "nats",
  tier: "L3",
  scale: "sequential",
  per_teacher: true,
  available: true,
  reason: null,
  limit: 4,
  below: false,
  above: false,
  noise: 0.02,
  low: "none",
  high: "large",
  aggregate: "sum",
};

export const SIGNALS: SignalMeta[] = [
  {
    ...base,
    name: "advantage",
    label: "advantage",
    formula: "log p_T(y) − log p_S(y)",
    tier: "L1",
    scale: "diverging",
    limit: 10,
    noise: 0.05,
    low: "teacher prefers other",
    high: "teacher prefers this",
  },
  { ...base, name: "reverse_kl", label: "reverse KL", formula: "KL(S ‖ T)", low: "agree", high: "disagree" },
  { ...base, name: "forward_kl", label: "forward KL", formula: "KL(T ‖ S)", low: "agree", high: "disagree" },
  {
    ...base,
    name: "student_entropy",
    label: "student entropy",
    formula: "H(S)",
    per_teacher: false,
    limit: 2,
    low: "certain",
    high: "open",
  },
  {
    ...base,
    name: "teacher_entropy",
    label: "teacher entropy",
    formula: "H(T)",
    limit: 2,
    low: "certain",
    high: "open",
  },
  {
    ...base,
    name: "student_rank",
    label: "student rank",
    formula: "rank of y under S",
    unit: "rank",
    tier: "L2",
    scale: "log",
    per_teacher: false,
    limit: 25,
    noise: null,
    low: "likeliest",
    high: "last",
    aggregate: "max",
  },
  {
    ...base,
    name: "teacher_rank",
    label: "teacher rank",
    formula: "rank of y under T",
    unit: "rank",
    tier: "L2",
    scale: "log",
    limit: 25,
    noise: null,
    low: "likeliest",
    high: "last",
    aggregate: "max",
  },
  {
    ...base,
    name: "student_logp",
    label: "log p student",
    formula: "log p_S(y)",
    tier: "L1",
    scale: "diverging",
    per_teacher: false,
    limit: 10,
    low: "unlikely",
    high: "",
  },
  {
    ...base,
    name: "teacher_logp",
    label: "log p teacher",
    formula: "log p_T(y)",
    tier: "L1",
    scale: "diverging",
    limit: 10,
    low: "unlikely",
    high: "",
  },
  { ...base, name: "k2", label: "k2", formula: "(s − t)² / 2", unit: "nats²", tier: "L1", limit: 40, noise: 0.00125 },
  { ...base, name: "k3", label: "k3", formula: "exp(t − s) − (t − s) − 1", unit: "", tier: "L1", limit: 10 },
  {
    ...base,
    name: "topk_overlap",
    label: "top-k overlap",
    formula: "|topk_S ∩ topk_T| / k",
    unit: "share",
    tier: "L2",
    limit: 1,
    noise: null,
    low: "disjoint",
    high: "same",
    aggregate: "mean",
  },
  { ...base, name: "jsd", label: "JSD", formula: "(KL(S ‖ M) + KL(T ‖ M)) / 2", limit: 0.7, noise: 0.002 },
  {
    ...base,
    name: "gradient_alignment",
    label: "gradient alignment",
    formula: "cos(g*, g_T)",
    unit: "",
    tier: "L4",
    scale: "diverging",
    limit: 1,
    noise: null,
    available: false,
    reason: "not estimated: run opd.diagnose",
  },
];

const entropy = (p: readonly number[]): number => -p.reduce((sum, x) => sum + Math.exp(x) * x, 0);
const kl = (p: readonly number[], q: readonly number[]): number =>
  p.reduce((sum, x, i) => sum + Math.exp(x) * (x - q[i]), 0);
const rank = (p: readonly number[], id: number): number => 1 + p.filter((x) => x > p[id]).length;
const top = (p: readonly number[]): number[] =>
  p
    .map((_, i) => i)
    .sort((a, b) => p[b] - p[a])
    .slice(0, 8);

export function signalValues(name: string, s: readonly number[], t: readonly number[] | null, id: number): number {
  const theirs = t ?? s;
  const advantage = theirs[id] - s[id];
  switch (name) {
    case "advantage":
      return advantage;
    case "reverse_kl":
      return kl(s, theirs);
    case "forward_kl":
      return kl(theirs, s);
    case "student_entropy":
      return entropy(s);
    case "teacher_entropy":
      return entropy(theirs);
    case "student_rank":
      return rank(s, id);
    case "teacher_rank":
      return rank(theirs, id);
    case "student_logp":
      return s[id];
    case "teacher_logp":
      return theirs[id];
    case "k2":
      return advantage ** 2 / 2;
    case "k3":
      return Math.exp(advantage) - advantage - 1;
    case "topk_overlap":
      return top(s).filter((x) => top(theirs).includes(x)).length / 8;
    default: {
      const middle = s.map((x, i) => Math.log((Math.exp(x) + Math.exp(theirs[i])) / 2));
      return (kl(s, middle) + kl(theirs, middle)) / 2;
    }
  }
}
