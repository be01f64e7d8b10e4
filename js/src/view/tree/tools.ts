/** The line of tools over the tree: what widths and colours show, what to open, what to find. */
import { plural } from "../../core/format";
import { maker, setText } from "../dom";
import { segmented } from "../segmented";
import type { TreeActions, TreeState } from "./state";

export interface TreeToolTargets {
  actions: TreeActions;
  deeper(step: 1 | -1): void;
  mostVisited(): void;
  furthestApart(): void;
  find(text: string): void;
  match(step: 1 | -1): void;
  /** Back to the tree. */
  leave(): void;
}

export interface TreeTools {
  node: HTMLElement;
  /** Puts the cursor into the find box. */
  focus(): void;
  found(text: string): void;
  depth(levels: number): void;
  update(state: TreeState): void;
}

const VISITS = [
  { value: "all", label: "all rollouts", title: "widths and counts of all rollouts, the targeted ones too" },
  {
    value: "initial",
    label: "initial",
    title: "widths and counts of the initial rollouts: those the student drew freely",
  },
];
const COLOURS = [
  { value: "mean", label: "around its own", title: "success above or below the question’s own" },
  { value: "success", label: "0 to 1", title: "success from 0 to 1" },
];

function opening(root: HTMLElement, targets: TreeToolTargets, signal: AbortSignal) {
  const h = maker(root);
  const button = (label: string, key: string, title: string, act: () => void, name?: string): HTMLButtonElement => {
    const attributes = { type: "button", class: "opd-button", title, "aria-label": name, "aria-keyshortcuts": key };
    const node = h("button", attributes, label, h("kbd", { class: "opd-key" }, key));
    node.addEventListener("click", act, { signal });
    return node;
  };
  const depth = h("span", { class: "opd-tree-depth opd-quiet", role: "status" }, "levels");
  const node = h(
    "div",
    { class: "opd-tree-opening", role: "group", "aria-label": "Open" },
    button("−", "[", "one level less everywhere", () => targets.deeper(-1), "One level less"),
    depth,
    button("+", "]", "one level more everywhere", () => targets.deeper(1), "One level more"),
    button("most visited", "m", "open the branches that most rollouts pass", targets.mostVisited),
    button(
      "parts most",
      "d",
      "go where success parts most, weighted by rollouts; again: where next most",
      targets.furthestApart,
    ),
  );
  return { node, depth };
}

function finding(root: HTMLElement, targets: TreeToolTargets, signal: AbortSignal) {
  const h = maker(root);
  const field = h("input", {
    type: "search",
    class: "opd-input opd-tree-find",
    "aria-label": "Find in the paths",
    placeholder: "find in paths",
    "aria-keyshortcuts": "/",
  });
  const count = h("span", { class: "opd-quiet opd-tree-found", role: "status" });
  field.addEventListener("input", () => targets.find(field.value), { signal });
  field.addEventListener(
    "keydown",
    (event) => {
      if (event.isComposing) return; // the key ends a word of another script
      if (event.key === "Enter") targets.match(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") {
        field.value = "";
        targets.find("");
        targets.leave();
      } else return;
      event.preventDefault();
    },
    { signal },
  );
  const step = (label: string, name: string, by: 1 | -1): HTMLElement => {
    const node = h("button", { type: "button", class: "opd-button opd-tree-step", "aria-label": name }, label);
    node.addEventListener("click", () => targets.match(by), { signal });
    return node;
  };
  const steps = h(
    "span",
    { class: "opd-tree-steps", hidden: true },
    step("‹", "Previous match", -1),
    step("›", "Next match", 1),
  );
  return { node: h("div", { class: "opd-tree-finding" }, field, steps, count), field, count, steps };
}

export function treeTools(root: HTMLElement, targets: TreeToolTargets, signal: AbortSignal): TreeTools {
  const h = maker(root);
  const { actions } = targets;
  const visits = segmented(root, {
    label: "Widths and counts of",
    data: "data-visits",
    choose: (value) => actions.select({ visits: value === "initial" ? "initial" : "all" }),
    signal,
  });
  const colours = segmented(root, {
    label: "Success in colour",
    data: "data-colour",
    choose: (value) => actions.select({ colour: value === "success" ? "success" : "mean" }),
    signal,
  });
  const open = opening(root, targets, signal);
  const find = finding(root, targets, signal);
  const group = (label: string, control: HTMLElement): HTMLElement =>
    h("div", { class: "opd-tree-choice" }, h("span", { class: "opd-quiet", "aria-hidden": "true" }, label), control);
  const node = h(
    "div",
    { class: "opd-tree-tools" },
    open.node,
    group("width", visits.node),
    group("success", colours.node),
    find.node,
  );
  return {
    node,
    focus: () => {
      find.field.focus();
      find.field.select();
    },
    found(text) {
      setText(find.count, text);
      find.steps.hidden = find.field.value === "";
    },
    depth: (levels) => setText(open.depth, plural(levels, "level")),
    update(state) {
      visits.show(VISITS, state.visits);
      colours.show(COLOURS, state.colour);
    },
  };
}
