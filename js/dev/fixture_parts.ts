/** The fixture's teachers, and its rollout of text that tries to be something else. */
import type { Cells, TeacherMeta } from "../src/model/contract";

export interface FixtureTeacher extends TeacherMeta {
  /** How clearly it knows a wrong digit. */
  strength: number;
  context(working: string, answer: string): string;
}

const none = (): string => "";

export const TEACHERS: FixtureTeacher[] = [
  {
    name: "Teacher 0.5M",
    kind: "external",
    description: "t06, sees the question",
    editable: false,
    limit: 512,
    strength: 1,
    context: none,
  },
  {
    name: "Self + solution",
    kind: "one_correct",
    description: "student with a worked solution",
    editable: true,
    limit: 256,
    strength: 0.9,
    context: (w) => `Demo: ${w}`,
  },
  {
    name: "Self + answer",
    kind: "answer_only",
    description: "student with the answer",
    editable: true,
    limit: 256,
    strength: 0.15,
    context: (_, a) => `Hint: ${a}`,
  },
  {
    name: "Self + wrong",
    kind: "one_incorrect",
    description: "student with a wrong solution",
    editable: true,
    limit: 256,
    strength: 0.05,
    context: (w) => `Demo: ${w.replace(/\d$/, "9")}`,
  },
  {
    name: "Other style",
    kind: "external",
    description: "as strong, another notation",
    editable: false,
    limit: 512,
    strength: 0.8,
    context: none,
  },
];

/** Cells as Python would cut them: hidden characters named, bytes joined, markup left as the text it is. */
const HOSTILE: [string, string, number][] = [
  ["⟨think⟩", "p", 1],
  ["<img src=x onerror=alert(1)>", "t", 1],
  ["</script><b>bold</b>", "t", 1],
  [" the", "t", 1],
  [" answer", "t", 1],
  ["：答案", "t", 1],
  ["是", "t", 1],
  ["四十二", "t", 1],
  ["👨‍👩‍👧‍👦", "t", 4],
  ["🙂", "t", 2],
  ["\n", "n", 1],
  ["שלום", "t", 1],
  [" עולם", "t", 1],
  ["مرحبا", "t", 1],
  ["[RLO]", "c", 1],
  ["abc", "t", 1],
  ["[PDF]", "c", 1],
  ["\t", "s", 1],
  ["  ", "s", 1],
  ["tool output: 42", "t", 6],
  ["\n", "n", 1],
  ["0xFF", "b", 1],
  ["a\u0301e\u0301", "t", 1],
  ["&amp;", "t", 1],
  ["⟨/think⟩", "p", 1],
  ["42", "t", 1],
  ["⟨eos⟩", "p", 1],
];

export function hostileTokens(): { tokens: string[]; cells: Cells } {
  const starts: number[] = [];
  const tokens: string[] = [];
  for (const [text, , size] of HOSTILE) {
    starts.push(tokens.length);
    for (let i = 0; i < size; i++) tokens.push(text);
  }
  return { tokens, cells: { starts, texts: HOSTILE.map(([t]) => t), kinds: HOSTILE.map(([, k]) => k).join("") } };
}
