/** The question's initial rollouts: how each ended, and the shape of its alignment. Only the rows near the window exist. */
import { COSINE } from "../../core/node_mark";
import { type Profile, profile } from "../../core/profile";
import type { RolloutPlace } from "../../model/diagnosis_contract";
import { kept } from "../cache";
import { maker, setAttribute, setText, uniqueId } from "../dom";
import { outcomeMark } from "../outcome";
import { type Plot, plot } from "../plot";
import { heading } from "../segmented";
import { changed } from "../state";
import { followBox, rolloutWindow } from "../text/row_window";
import { type AlignmentActions, type AlignmentPart, type AlignmentState, alignments } from "./state";

const WIDTH = 64;
const HEIGHT = 18;
/** Characters of a row's text: more would not show. */
const LABEL = 120;

function label(state: AlignmentState, record: RolloutPlace): string {
  let text = "";
  for (const id of state.places.tokenIds(record).subarray(0, LABEL)) {
    const [shown, kind] = state.places.shown(id);
    text += kind === "p" ? " " : shown; // every rollout would begin with the same special token;
  }
  return text.replace(/\s+/g, " ").trim().slice(0, LABEL);
}

interface Row {
  node: HTMLElement;
  chart: Plot;
}

function makeRow(root: HTMLElement, state: AlignmentState, index: number, id: string): Row {
  const h = maker(root);
  const record = state.place.rollouts[index];
  const chart = plot(root, "opd-spark");
  const node = h(
    "div",
    {
      class: "opd-row",
      role: "option",
      id,
      "data-rollout": index,
      "aria-posinset": index + 1,
      "aria-setsize": state.place.rollouts.length,
    },
    outcomeMark(h, record.outcome),
    h("span", { class: "opd-row-label", dir: "ltr" }, h("bdi", {}, label(state, record))),
    chart.node as unknown as HTMLElement,
    h("span", { class: "opd-row-length", title: `${record.length} tokens` }, String(record.length)),
  );
  return { node, chart };
}

/** The shape of a rollout's alignment under the teacher, made once. */
function shape(state: AlignmentState, record: RolloutPlace): Profile {
  return kept(state.data, "spark", [record.offset, record.length, state.teacher], () => {
    const values = alignments(state, record);
    return profile(values, new Uint8Array(values.length).fill(1), COSINE, WIDTH, HEIGHT);
  });
}

/** "12 correct, 8 incorrect": how the question's rollouts ended. */
export function endings(rollouts: readonly RolloutPlace[]): string {
  const count = new Map<string, number>();
  for (const { outcome, status } of rollouts) {
    const how = status === "truncated" ? "truncated" : outcome;
    count.set(how, (count.get(how) ?? 0) + 1);
  }
  return [...count].map(([how, n]) => `${n} ${how}`).join(", ");
}

export function alignmentList(root: HTMLElement, actions: AlignmentActions): AlignmentPart {
  const h = maker(root);
  const life = new AbortController();
  const uid = uniqueId();
  const title = heading(root, "Rollouts");
  const counts = h("p", { class: "opd-quiet opd-a-endings" });
  const window = rolloutWindow(root);
  const { box } = window;
  root.append(title, counts, box);
  let last: AlignmentState | null = null;
  let rows = new Map<number, Row>();

  function draw(): void {
    if (!last) return;
    const state = last;
    const next = new Map<number, Row>();
    window.draw(state.place.rollouts.length, (i) => {
      const row = rows.get(i) ?? makeRow(root, state, i, `${uid}-${i}`);
      // A switch of teacher redraws what is in sight; the rest follows when it comes there.
      if (window.near(i)) row.chart.draw(shape(state, state.place.rollouts[i]), HEIGHT, true);
      setAttribute(row.node, "aria-selected", String(i === state.shown));
      next.set(i, row);
      return row.node;
    });
    rows = next;
    setAttribute(box, "aria-activedescendant", next.has(state.shown) ? `${uid}-${state.shown}` : null);
  }

  followBox(window, draw, () => last?.shown ?? -1, life.signal);
  box.addEventListener(
    "click",
    (event) => {
      const index = (event.target as Element).closest("[data-rollout]")?.getAttribute("data-rollout");
      const record = last?.place.rollouts[Number(index ?? -1)];
      if (last && record) actions.select({ rollout: last.places.rolloutId(last.place, record) });
    },
    { signal: life.signal },
  );

  return {
    update(state) {
      const other = changed(last, state, "places", "data", "question");
      if (other) rows = new Map();
      if (other) setText(counts, endings(state.place.rollouts));
      const moved = other || changed(last, state, "shown");
      const touched = moved || changed(last, state, "teacher");
      last = state;
      if (touched) draw();
      if (!moved) return;
      window.reveal(state.shown); // after the sheet has its height
      draw();
    },
    destroy() {
      life.abort();
      for (const node of [title, counts, box]) node.remove();
    },
  };
}
