/** A widget in a page of its own, as a host shows it. */
import { afterEach } from "vitest";
import { makeScores } from "../dev/fixture";
import { staticModel } from "../src/host/static_model";
import type { JobTrait } from "../src/model/contract";

export const JOB: JobTrait = {
  state: "idle",
  teacher: null,
  question: null,
  done: 0,
  total: 0,
  seconds: 0,
  message: "",
};

/** What a view of scores is given. */
export const scoresTraits = (scores = makeScores()): Record<string, unknown> => ({
  scores,
  live: { entries: [], vocab: {} },
  job: JOB,
  rollout: 1,
  token: -1,
  teacher: "Teacher 0.5M",
  signal: "advantage",
});

/** Views still open: one left behind would wake up after the test environment is gone. */
const open: (() => void)[] = [];

afterEach(() => {
  for (const end of open.splice(0)) end();
  document.body.replaceChildren();
});

export const frame = (): Promise<void> =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));

export async function shown(widget: object, traits: Record<string, unknown>) {
  const el = document.body.appendChild(document.createElement("div"));
  const model = staticModel(traits);
  const life = new AbortController();
  const definition = widget as { render(props: object): () => void };
  const end = definition.render({ model, el, signal: life.signal, host: {}, experimental: {} });
  open.push(end);
  await frame();
  const all = (selector: string): HTMLElement[] => [...el.querySelectorAll<HTMLElement>(selector)];
  const one = (selector: string): HTMLElement => el.querySelector<HTMLElement>(selector)!;
  /** A key at a node; true where the view took it for itself. */
  const press = async (key: string, target: Element, more: KeyboardEventInit = {}): Promise<boolean> => {
    let left = false;
    const heard = (): void => {
      left = true;
    };
    el.addEventListener("keydown", heard);
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
    el.removeEventListener("keydown", heard);
    await frame();
    return !left;
  };
  /** As a reader presses it: with the focus on it. */
  const click = async (node: HTMLElement): Promise<void> => {
    node.focus();
    node.click();
    await frame();
  };
  return { el, model, life, end, all, one, press, click };
}
