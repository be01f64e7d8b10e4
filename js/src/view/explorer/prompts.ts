/** What each side saw before the response. The part only one of them sees is marked, and never folded away unseen. */

import { plural } from "../../core/format";
import { onlyHere } from "../../core/only_here";
import { isolated } from "../../core/plain_text";
import type { PromptMeta } from "../../model/contract";
import { maker, setAttribute, setText } from "../dom";
import { changed, type View, type ViewState } from "../state";
import { makeLines } from "../text/cell";
import { copyTrueText } from "../text/copy";

/** Longer prompts start as a box of a few lines that scrolls. */
const LONG_CHARACTERS = 320;
const LONG_LINES = 5;

const isLong = (prompt: PromptMeta): boolean =>
  prompt.cells.texts.reduce((sum, text) => sum + text.length, 0) > LONG_CHARACTERS ||
  [...prompt.cells.kinds].filter((kind) => kind === "n").length > LONG_LINES;

/** The line before the one at a height, counted from 0; the first has none before it. Heights in pixels. */
export const lineBefore = (height: number, line: number): number => Math.max(0, Math.floor(height / line) - 1);

type Stretch = [number, number] | null;

type Side = "student" | "teacher";

const NOTES: Record<Side, string> = {
  student: "marked: the teacher does not see it",
  teacher: "marked: only the teacher sees it",
};

function promptText(root: HTMLElement, prompt: PromptMeta, marked: Stretch, side: Side): HTMLElement {
  const h = maker(root);
  const { lines, nodes } = makeLines(root, prompt.cells);
  const [from, to] = marked ?? [0, 0];
  for (let i = from; i < Math.min(to, nodes.length); i++) nodes[i].classList.add("opd-only", `opd-only-${side}`);
  const folded = isLong(prompt);
  // It scrolls while it is folded, so the keyboard must reach it.
  const reached = folded ? { role: "group", tabindex: 0, "aria-label": `Prompt of the ${side}` } : {};
  return h("div", { class: "opd-prompt-text", dir: "ltr", "data-folded": folded, ...reached }, ...lines);
}

export function prompts(root: HTMLElement): View {
  const h = maker(root);
  const life = new AbortController();
  const box = h("div", { class: "opd-prompts" });
  root.append(box);
  let last: ViewState | null = null;
  let shown = "";

  function part(who: string, prompt: PromptMeta, marked: Stretch, side: Side): HTMLElement {
    const text = promptText(root, prompt, marked, side);
    copyTrueText(text, life.signal);
    const label = h(
      "div",
      { class: "opd-prompt-who" },
      h("span", {}, who),
      h(
        "span",
        { class: "opd-quiet" },
        prompt.tokens > 0 ? plural(prompt.tokens, "token") : "a prompt not recorded as tokens",
      ),
    );
    if (marked) label.append(h("span", { class: "opd-only-note" }, NOTES[side]));
    if (text.hasAttribute("data-folded")) {
      const button = h("button", { type: "button", class: "opd-link", "aria-expanded": "false" }, "show all");
      button.addEventListener(
        "click",
        () => {
          const open = text.toggleAttribute("data-open");
          setAttribute(button, "aria-expanded", String(open));
          setText(button, open ? "show less" : "show all");
        },
        { signal: life.signal },
      );
      label.append(button);
    }
    return h("div", { class: "opd-prompt", "data-side": side }, label, prompt.tokens > 0 && text);
  }

  /** In a folded prompt the marked part is what the reader came for: its first line shows under the whole line before it. */
  function showMarked(): void {
    for (const text of box.querySelectorAll<HTMLElement>("[data-folded]")) {
      const first = text.querySelector<HTMLElement>(".opd-only")?.getClientRects()[0];
      const line = Number.parseFloat(getComputedStyle(text).lineHeight);
      if (!first || !(line > 0)) continue;
      const top = text.getBoundingClientRect().top + text.clientTop - text.scrollTop;
      text.scrollTop = lineBefore((first.top + first.bottom) / 2 - top, line) * line;
    }
  }

  return {
    update(state) {
      if (!changed(last, state, "data", "record", "teacher")) return;
      last = state;
      const own = state.data.studentPrompt(state.rollout);
      const given = state.data.teacherPrompt(state.rollout, state.teacher);
      // A row made of two teachers was given no prompt of its own.
      const theirs = given?.tokens === 0 && own?.tokens !== 0 ? null : given;
      const now = JSON.stringify([state.teacher, own, theirs]);
      if (now === shown) return;
      shown = now;
      // One of another tokenizer has a template of its own all through: what stands elsewhere in it is not hidden from it.
      const other = state.data.otherTokenizer(state.teacher);
      const lacking = own && theirs && !other ? onlyHere(own.cells.texts, theirs.cells.texts) : null;
      const same = theirs === null || (theirs.differs === null && lacking === null && !other);
      const who = same && theirs ? `Student and ${isolated(state.teacher)} see` : "Student sees";
      box.replaceChildren();
      if (own) box.append(part(who, own, same ? null : lacking, "student"));
      if (!same && theirs) box.append(part(`${isolated(state.teacher)} sees`, theirs, theirs.differs, "teacher"));
      showMarked();
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
