import { expect, it, vi } from "vitest";
import { treeTools } from "../src/view/tree/tools";

it("goes to no match with the Enter that ends a word of another script", () => {
  const match = vi.fn();
  const nothing = (): void => {};
  const targets = {
    actions: { select: nothing },
    deeper: nothing,
    mostVisited: nothing,
    furthestApart: nothing,
    find: nothing,
    match,
    leave: nothing,
  };
  const life = new AbortController();
  const { node } = treeTools(document.body, targets, life.signal);
  const field = node.querySelector(".opd-tree-find")!;
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true }));
  expect(match).not.toHaveBeenCalled();
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  expect(match).toHaveBeenCalledExactlyOnceWith(1);
  life.abort();
});
