/** What a reader must know of a run, and the way on when there is a result. */
import { maker, setText } from "../dom";
import type { ProgressPart } from "./state";

const WAY_ON = "opd.AlignmentView(run.result)";

function select(node: HTMLElement): void {
  const range = node.ownerDocument.createRange();
  range.selectNodeContents(node);
  const selection = node.ownerDocument.getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}

export function progressAfter(root: HTMLElement): ProgressPart {
  const h = maker(root);
  const life = new AbortController();
  const warnings = h("ul", { class: "opd-run-warnings", "aria-label": "Warnings" });
  const words = h("span", { class: "opd-quiet" });
  const code = h("code", { class: "opd-run-code", tabindex: 0 }, WAY_ON);
  const copy = h("button", { type: "button", class: "opd-button" }, "copy");
  const next = h("p", { class: "opd-run-next" }, words, code, copy);
  root.append(warnings, next);

  async function copied(): Promise<void> {
    const clipboard = root.ownerDocument.defaultView?.navigator.clipboard;
    try {
      if (!clipboard) throw new Error("no clipboard");
      await clipboard.writeText(WAY_ON);
      setText(copy, "copied");
    } catch {
      select(code); // a page that may not write there: one key is left to press
      setText(copy, "selected: now copy");
    }
  }
  copy.addEventListener("click", () => void copied(), { signal: life.signal });
  let before = "";

  return {
    update({ run }) {
      const said = run.warnings.join("\n");
      if (said !== before) warnings.replaceChildren(...run.warnings.map((line) => h("li", {}, line)));
      before = said;
      warnings.hidden = run.warnings.length === 0;
      const over = run.state === "done" || run.state === "stopped" || run.state === "failed";
      next.hidden = !run.live || !over || run.teachers.length === 0;
      setText(words, run.state === "done" ? "the result, node by node:" : "what there is by now, node by node:");
    },
    destroy() {
      life.abort();
      warnings.remove();
      next.remove();
    },
  };
}
