/** The numbers of the selected node under the selected teacher, one a line. */
import { formatNumber, formatShort } from "../../core/format";
import { COSINE, markClass } from "../../core/node_mark";
import { colourClass } from "../../core/scale";
import { maker } from "../dom";
import type { AlignmentState } from "./state";

const signed = (value: number, digits = 2): string => formatShort(value, { signed: true, digits, missing: "–" });
const share = (value: number): string => formatNumber(value, { digits: 3, missing: "–" });

interface Fact {
  name: string;
  value: string;
  /** Class of the value's ground. */
  ground?: string;
  aside?: string;
  title?: string;
}

/** What is said of the cosine: its posterior, or, where it is in no mean, what it is on the support alone. */
function cosine({ data, teacher }: AlignmentState, row: number): Fact[] {
  const score = data.score(row, teacher);
  if (score.verdict === "") {
    const title = `posterior median, ${Math.round(100 * data.meta.level)}% interval`;
    const aside = `${signed(score.low)} to ${signed(score.high)}`;
    const two = data.node("n_support", row, teacher) === 2;
    const p = "probability that the cosine is above 0";
    return [
      { name: "alignment", value: signed(score.alignment), ground: markClass(score), aside, title },
      {
        name: two ? "P(+1)" : "P(> 0)",
        value: share(data.node("p_positive", row, teacher)),
        title: two ? `${p}; with two tokens it can only be −1 or +1` : p,
      },
    ];
  }
  const value = data.node("alignment_on_support", row, teacher);
  if (Number.isNaN(value)) return [];
  const ground = colourClass(value, COSINE);
  const title = "median cosine on the support alone";
  return [{ name: "on the support", value: signed(value), ground, aside: "in no mean", title }];
}

function rest({ data, teacher }: AlignmentState, row: number): Fact[] {
  const node = (name: Parameters<typeof data.node>[0]): number => data.node(name, row, teacher);
  const gain = node("teacher_advantage");
  const found: Fact[] = [
    {
      name: "support",
      value: String(node("n_support")),
      aside: "tokens",
      title: `candidates with at least ${data.meta.min_visits} visits, known to both; K`,
    },
    {
      name: "student mass",
      value: share(node("student_mass")),
      aside: "on the support",
      title: "the student's probability of K",
    },
    {
      name: "teacher mass",
      value: share(node("teacher_mass")),
      aside: "on the support",
      title: "the teacher's probability of K",
    },
  ];
  if (!Number.isNaN(gain)) {
    found.push({
      name: "teacher advantage",
      value: signed(gain, 3),
      aside: `${signed(node("teacher_advantage_low"))} to ${signed(node("teacher_advantage_high"))}`,
      title: "success with the teacher's choice of this token, less that with the student's own",
    });
  }
  found.push({
    name: "success from here",
    value: share(data.count("success", row)),
    title: "the student's, over all candidates",
  });
  const visits = `${data.count("visits", row)} + ${data.count("targeted", row)}`;
  found.push({ name: "rollouts", value: visits, aside: "initial + targeted" });
  return found;
}

export function nodeFacts(root: HTMLElement, state: AlignmentState, row: number): HTMLElement {
  const h = maker(root);
  const lines = [...cosine(state, row), ...rest(state, row)].map(({ name, value, ground, aside = "", title = null }) =>
    h(
      "tr",
      { title },
      h("th", { scope: "row" }, name),
      h("td", { class: "opd-figure" }, ground ? h("span", { class: `opd-chip ${ground}` }, value) : value),
      h("td", { class: "opd-unit" }, aside),
    ),
  );
  return h("table", { class: "opd-values opd-a-facts" }, h("tbody", {}, ...lines));
}
