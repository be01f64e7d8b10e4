/** The rollout's text, every token coloured. The DOM is built once a rollout; a switch of teacher or signal swaps classes. */
import { cellClass, makeLines } from "./cell";
import { copyTrueText } from "./copy";
import { maker, reveal, setAttribute, uniqueId } from "./dom";
import { elementAt, scrub } from "./scrub";
import { companions, selectedCell, series } from "./series";
import { type Actions, changed, type View, type ViewState } from "./state";

/** From here on the browser may skip lines out of view; shorter texts are simply drawn. */
const LONG = 1500;

export function tokenStrip(root: HTMLElement, actions: Actions): View {
  const h = maker(root);
  const life = new AbortController();
  const uid = uniqueId();
  const strip = h("div", { class: "opd-strip", role: "listbox", tabindex: 0, dir: "ltr", "aria-label": "Tokens" });
  root.append(strip);
  let last: ViewState | null = null;
  let nodes: HTMLSpanElement[] = [];
  let bases: string[] = [];
  let index = new Map<Element, number>();
  let marked: HTMLSpanElement | null = null;
  let grouped: HTMLSpanElement[] = [];

  scrub({
    box: strip,
    signal: life.signal,
    at(x, y, event) {
      const under = event.type === "pointerdown" ? (event.target as Element) : elementAt(strip, x, y);
      const cell = index.get(under?.closest(".opd-cell") as Element);
      if (cell !== undefined && last) actions.select({ token: last.record.cells.starts[cell] });
    },
  });

  copyTrueText(strip, life.signal);

  function build(state: ViewState): void {
    const made = makeLines(strip, state.record.cells);
    nodes = made.nodes;
    index = new Map(nodes.map((node, i) => [node, i]));
    const mask = series(state).masked;
    bases = nodes.map((node, i) => {
      node.id = `${uid}-${i}`;
      node.setAttribute("role", "option");
      return cellClass(state.record.cells.kinds[i]) + (mask(i) ? " opd-masked" : "");
    });
    marked = null;
    strip.replaceChildren(...made.lines);
    strip.toggleAttribute("data-long", nodes.length > LONG);
    strip.scrollTop = 0;
  }

  function recolour(state: ViewState): void {
    const { colour } = series(state);
    for (let i = 0; i < nodes.length; i++) {
      const name = `${bases[i]} ${colour(i)}`;
      if (nodes[i].className !== name) nodes[i].className = name;
    }
  }

  function markGroup(state: ViewState): void {
    for (const node of grouped) node.removeAttribute("data-with");
    grouped = companions(state).map((cell) => nodes[cell]);
    for (const node of grouped) node.setAttribute("data-with", "");
  }

  function mark(state: ViewState): void {
    markGroup(state);
    const next = nodes[selectedCell(state)] ?? null;
    if (next === marked) return;
    marked?.removeAttribute("aria-selected");
    next?.setAttribute("aria-selected", "true");
    setAttribute(strip, "aria-activedescendant", next?.id ?? null);
    marked = next;
    if (next) reveal(strip, next);
  }

  return {
    update(state) {
      const rebuilt = changed(last, state, "record");
      if (rebuilt) build(state);
      if (rebuilt || changed(last, state, "data", "teacher", "signal")) recolour(state);
      last = state;
      mark(state);
    },
    destroy() {
      life.abort();
      strip.remove();
    },
  };
}
