/** The rollout's text: a node's colour stands at the token the rollout took there. */
import { formatNumber } from "../../core/format";
import { STANDINGS, standing } from "../../core/node_mark";
import { maker, setAttribute } from "../dom";
import { outcomeMark } from "../outcome";
import { changed } from "../state";
import { findBar } from "../text/find_bar";
import { tokenText } from "../text/token_text";
import { type AlignmentActions, type AlignmentPart, type AlignmentState, classes, NO_CELLS, scoreAt } from "./state";

/** A token in words, for a tooltip and a screen reader. */
export function tokenSentence(state: AlignmentState, token: number): string {
  const { record, places, teacher } = state;
  if (!record || token < 0) return "No token selected";
  const [text] = places.shown(places.tokenIds(record)[token]);
  const who = places.teachers[teacher]?.name ?? "";
  const score = scoreAt(state, token);
  const how = standing(score);
  const place = `${text}, token ${token + 1} of ${record.length}`;
  if (score === null || how === "unscored") return `${place}: not scored`;
  if (how !== "scored" && how !== "open") return `${place}: ${STANDINGS[how]}, ${who}`;
  const number = (value: number): string => formatNumber(value, { signed: true });
  const open = how === "open" ? ", the interval holds 0" : "";
  return `${place}: alignment ${number(score.alignment)}, ${number(score.low)} to ${number(score.high)}${open}, ${who}`;
}

export function alignmentTitle(root: HTMLElement): AlignmentPart {
  const h = maker(root);
  const box = h("div", { class: "opd-title" });
  root.append(box);
  let last: AlignmentState | null = null;
  return {
    update(state) {
      if (!changed(last, state, "places", "question", "shown")) return;
      last = state;
      const { record, place, shown, places } = state;
      const title = h("bdi", { class: "opd-title-question" }, place.title);
      if (!record) return box.replaceChildren(title, h("span", { class: "opd-quiet" }, "no initial rollout"));
      const scored = places.nodesOf(record).reduce((sum, node) => sum + (node >= 0 ? 1 : 0), 0);
      const facts = [
        `rollout ${shown + 1} of ${place.rollouts.length}`,
        record.status === "truncated" ? "truncated" : record.outcome,
      ];
      facts.push(`${record.length} tokens`, `${scored} at nodes`);
      box.replaceChildren(outcomeMark(h, record.outcome), title, h("span", { class: "opd-quiet" }, facts.join(" · ")));
    },
    destroy: () => box.remove(),
  };
}

export function alignmentText(root: HTMLElement, actions: AlignmentActions): AlignmentPart {
  const life = new AbortController();
  let last: AlignmentState | null = null;
  const text = tokenText({
    root,
    label: "Tokens, coloured by alignment",
    signal: life.signal,
    pick: (token) => actions.select({ token }),
  });
  const ways = maker(root)("div", { class: "opd-jump" });
  root.append(ways);
  const finds = findBar(ways, actions, {
    mark: (_, cells, current) => text.mark(cells, current),
    scrollTo: (cell) => text.scrollTo(cell),
    focus: () => text.node.focus({ preventScroll: true }),
  });
  text.node.addEventListener(
    "pointerover",
    (event) => {
      const cell = (event.target as Element).closest<HTMLElement>("[data-cell]");
      if (cell && last) setAttribute(cell, "title", tokenSentence(last, Number(cell.dataset.cell)));
    },
    { signal: life.signal },
  );
  return {
    update(state) {
      const fresh = changed(last, state, "places", "record");
      const cells = state.record ? state.places.cells(state.record) : NO_CELLS;
      if (fresh) text.show(cells);
      if (fresh || changed(last, state, "data", "teacher")) text.paint(classes(state));
      last = state;
      text.select(state.token);
      finds.update({ record: { cells, length: cells.starts.length }, token: state.token });
    },
    destroy() {
      life.abort();
      finds.destroy();
      ways.remove();
      text.destroy();
    },
  };
}
