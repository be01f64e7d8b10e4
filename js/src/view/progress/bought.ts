/** What was bought, by teacher: nodes whose sign is sure, the width of their intervals, the mean alignment so far. */
import { count } from "../../core/duration";
import { formatNumber } from "../../core/format";
import type { TeacherBought } from "../../model/progress_contract";
import { maker, setText } from "../dom";
import { cosineWhisker, intervalText } from "../whisker";
import { progressLine } from "./line";
import type { ProgressPart, ProgressState } from "./state";

const number = (value: number | null, signed = false): string =>
  formatNumber(value ?? Number.NaN, { signed, missing: "–" });

function teacherRow(root: HTMLElement) {
  const h = maker(root);
  const cell = (name = ""): HTMLElement => h("td", { class: `opd-figure ${name}` });
  const [sure, median, mean, value, ends] = [cell(), cell(), cell("opd-bought-mean"), cell(), cell("opd-bought-ends")];
  const name = h("th", { scope: "row" });
  const drawing = h("td", { class: "opd-bought-mark" });
  const row = h("tr", {}, name, sure, median, mean, value, drawing, ends);
  return {
    row,
    update(teacher: TeacherBought): void {
      setText(name, teacher.name);
      setText(sure, `${count(teacher.sure)} of ${count(teacher.scored)}`);
      setText(median, number(teacher.width));
      setText(mean, number(teacher.mean_width));
      setText(value, number(teacher.mean, true));
      const { low, mean: at, high } = teacher;
      const known = at !== null && low !== null && high !== null;
      setText(ends, known ? intervalText(low, high) : "");
      drawing.replaceChildren(...(known ? [cosineWhisker(root, low, at, high)] : []));
    },
  };
}

function table(root: HTMLElement) {
  const h = maker(root);
  const head = (text: string, name = "", title = ""): HTMLElement =>
    h("th", { scope: "col", class: name, title: title || null }, text);
  const body = h("tbody", {});
  const span = h("th", { scope: "col", colspan: 2, class: "opd-bought-span" }, "so far");
  const node = h(
    "table",
    { class: "opd-bought-table" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head("teacher"),
        head(
          "sign sure",
          "opd-figure",
          "nodes where the sign of the alignment is at least 95% probable, of those that have one",
        ),
        head("median width", "opd-figure", "of the intervals of the alignment at a node; 0 to 2"),
        head("mean", "opd-figure opd-bought-mean", "mean width of the same intervals"),
        head(
          "mean cosine",
          "opd-figure",
          "over the nodes, each as often as initial rollouts pass it; the summary keeps those rollouts out of its estimate besides",
        ),
        span,
      ),
    ),
    body,
  );
  return { node, body, span };
}

export function progressBought(root: HTMLElement): ProgressPart {
  const h = maker(root);
  const none = h("p", { class: "opd-quiet" });
  const { node, body, span } = table(root);
  const rows: ReturnType<typeof teacherRow>[] = [];
  const scroller = h("div", { class: "opd-bought-scroll" }, node);
  const box = h("section", { class: "opd-run-bought", "aria-label": "Bought" });
  box.append(h("h2", { class: "opd-heading" }, "bought so far"), none, scroller);
  const line = progressLine(box);
  root.append(box);
  return {
    update(state: ProgressState) {
      const { teachers, level } = state.run;
      setText(none, "No node has been read yet: the initial rollouts come first.");
      none.hidden = teachers.length > 0;
      scroller.hidden = teachers.length === 0;
      setText(span, `its ${Math.round(100 * level)}% interval, −1 to 1`);
      while (rows.length > teachers.length) rows.pop()?.row.remove();
      teachers.forEach((teacher, i) => {
        if (!rows[i]) {
          rows[i] = teacherRow(root);
          body.append(rows[i].row);
        }
        rows[i].update(teacher);
      });
      line.update(state);
    },
    destroy: () => box.remove(),
  };
}
