/** Which way is which, and what the patterns mean: only those that the shown rollout has. */
import { COSINE, STANDINGS, type Standing, standing } from "../../core/node_mark";
import { legendSteps } from "../../core/scale";
import { kept } from "../cache";
import { maker } from "../dom";
import { changed } from "../state";
import { type AlignmentPart, type AlignmentState, scoreAt } from "./state";

const TITLE =
  "Alignment: the cosine of the teacher's gradient with the ideal one, which raises the student's expected success most. Posterior median.";

/** What the shown rollout has, in the order of the legend. */
function found(state: AlignmentState): (keyof typeof STANDINGS)[] {
  const { data, record, question, shown, teacher } = state;
  return kept(data, "standings", [question, shown, teacher], () => {
    const there = new Set<Standing>();
    for (let token = 0; token < (record?.length ?? 0); token++) there.add(standing(scoreAt(state, token)));
    return (Object.keys(STANDINGS) as (keyof typeof STANDINGS)[]).filter((how) => there.has(how));
  });
}

/** How a standing is drawn, on a sample. */
const sample = (how: keyof typeof STANDINGS): string => (how === "open" ? "opd-v-p9 opd-a-open" : `opd-a-${how}`);

export function alignmentLegend(root: HTMLElement): AlignmentPart {
  const h = maker(root);
  const { below, above } = legendSteps(COSINE);
  const field = (name: string): HTMLElement => h("span", { class: `opd-legend-step ${name}` });
  const scale = h(
    "span",
    { class: "opd-legend-scale", "aria-hidden": "true" },
    ...below.map(field),
    h("span", { class: "opd-legend-gap opd-v-noise" }, "0"),
    ...above.map(field),
  );
  const range = h(
    "span",
    { class: "opd-legend-range" },
    h("span", { class: "opd-legend-number" }, "−1"),
    scale,
    h("span", { class: "opd-legend-number" }, "+1"),
  );
  const keys = h("span", { class: "opd-a-keys" });
  const words = [
    h("span", { class: "opd-legend-word" }, "against the ideal gradient"),
    range,
    h("span", { class: "opd-legend-word" }, "along it"),
  ];
  const box = h("div", { class: "opd-legend", role: "note", title: TITLE }, ...words);
  root.append(box, keys);
  let last: AlignmentState | null = null;
  let said = "";
  return {
    update(state) {
      if (!changed(last, state, "data", "record", "teacher")) return;
      last = state;
      const shown = found(state);
      if (shown.join() === said) return;
      said = shown.join();
      keys.replaceChildren(
        ...shown.map((how) =>
          h(
            "span",
            { class: "opd-a-key" },
            h("span", { class: `opd-a-sample ${sample(how)}`, "aria-hidden": "true" }, "a"),
            STANDINGS[how],
          ),
        ),
      );
    },
    destroy() {
      box.remove();
      keys.remove();
    },
  };
}
