/** Which teachers are compared: the two whose difference is taken, in order, and which others are shown beside them. */

import { KEPT, keepFocus, maker, setAttribute } from "../dom";
import type { CompareActions, CompareState, CompareView } from "./state";

/** `names` with `name` at `at`; what stood there goes where it came from. */
export function placed(names: readonly string[], name: string, at: number): string[] {
  const out = [...names];
  const from = out.indexOf(name);
  if (from >= 0) out[from] = out[at];
  out[at] = name;
  return out;
}

export function comparePair(root: HTMLElement, actions: CompareActions): CompareView {
  const h = maker(root);
  const life = new AbortController();
  let last: CompareState | null = null;
  let shown = "";
  const side = (label: string, at: number): HTMLSelectElement => {
    const menu = h("select", { class: "opd-select opd-compare-side", "aria-label": label });
    menu.addEventListener(
      "change",
      () => last && actions.arrange({ compared: placed(last.compared, menu.value, at) }),
      { signal: life.signal },
    );
    return menu;
  };
  const [first, second] = [side("Difference: of", 0), side("Difference: minus", 1)];
  const others = h("span", { class: "opd-compare-others", role: "group", "aria-label": "Also in rows" });
  const label = h("span", { class: "opd-quiet" }, "difference");
  const minus = h("span", { "aria-hidden": "true" }, "−");
  const box = h("div", { class: "opd-compare-pair" }, label, first, minus, second, others);
  root.append(box);

  function toggle(name: string, on: boolean): HTMLElement {
    const button = h(
      "button",
      { type: "button", class: "opd-button opd-compare-toggle", "aria-pressed": String(on), [KEPT]: name },
      h("bdi", {}, name),
    );
    button.addEventListener("click", () => {
      if (!last) return;
      const without = last.compared.filter((other) => other !== name);
      actions.arrange({ compared: last.compared.includes(name) ? without : [...without, name] });
    });
    return button;
  }

  return {
    update(state) {
      last = state;
      const names = state.data.teachers.map((t) => t.name);
      const now = JSON.stringify([names, state.compared]);
      if (now === shown) return;
      shown = now;
      const [a, b] = state.compared;
      for (const [menu, value] of [
        [first, a],
        [second, b],
      ] as const) {
        menu.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
        menu.value = value ?? "";
      }
      const rest = names.filter((name) => name !== a && name !== b);
      keepFocus(others, () =>
        others.replaceChildren(
          ...(rest.length > 0 ? [h("span", { class: "opd-quiet" }, "also in rows")] : []),
          ...rest.map((name) => toggle(name, state.compared.includes(name))),
        ),
      );
      setAttribute(box, "hidden", names.length < 2 ? "" : null);
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
