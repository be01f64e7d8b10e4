import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { scrub } from "../src/view/scrub";
import type { ViewState } from "../src/view/state";
import { trailing } from "../src/view/trailing";

const state = (token: number, teacher = "a"): ViewState => ({ token, teacher }) as ViewState;

describe("a view beside a minimap", () => {
  const life = new AbortController();
  let root: HTMLElement;
  let box: HTMLElement;
  const widget = (): HTMLElement => {
    const node = document.body.appendChild(document.createElement("div"));
    node.className = "opd-root";
    return node;
  };
  const point = (type: string, buttons = 1): boolean =>
    box.dispatchEvent(Object.assign(new Event(type), { pointerId: 1, button: 0, buttons, clientX: 1, clientY: 1 }));

  beforeEach(() => {
    vi.useFakeTimers();
    root = widget();
    box = root.appendChild(document.createElement("div"));
    scrub({ box, at: () => {}, signal: life.signal, coarse: true });
  });
  afterEach(() => {
    vi.useRealTimers();
    document.body.replaceChildren();
  });

  it("waits while the pointer drags on, and draws the last state when it rests", () => {
    const update = vi.fn();
    const view = trailing(root, { update, destroy: () => {} });
    view.update(state(0));
    point("pointerdown");
    view.update(state(1));
    expect(update).toHaveBeenCalledTimes(2);
    point("pointermove");
    for (let token = 2; token < 30; token++) view.update(state(token));
    expect(update).toHaveBeenCalledTimes(2);
    vi.runAllTimers();
    expect(update.mock.calls.slice(2)).toEqual([[state(29)]]);
    point("pointerup", 0);
    view.update(state(31));
    expect(update).toHaveBeenLastCalledWith(state(31));
  });

  it("does not wait for anything but a token, nor in another widget, nor after its end", () => {
    const update = vi.fn();
    const view = trailing(root, { update, destroy: () => {} });
    const elsewhere = vi.fn();
    const apart = trailing(widget(), { update: elsewhere, destroy: () => {} });
    for (const one of [view, apart]) one.update(state(0));
    point("pointerdown");
    point("pointermove");
    apart.update(state(1));
    expect(elsewhere).toHaveBeenCalledTimes(2);
    view.update(state(0, "b"));
    expect(update).toHaveBeenCalledTimes(2);
    view.update(state(5, "b"));
    view.destroy();
    vi.runAllTimers();
    expect(update).toHaveBeenCalledTimes(2);
    point("pointerup", 0);
  });
});
