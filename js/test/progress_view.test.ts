import { beforeEach, describe, expect, it, vi } from "vitest";
import { count, duration } from "../src/core/duration";
import { widthsLine } from "../src/core/widths_line";
import { staticModel } from "../src/host/static_model";
import { LOST_MS, SLOW_MS } from "../src/model/context_session";
import type { ProgressTrait } from "../src/model/progress_contract";
import { RpcError } from "../src/model/rpc";
import { createRunCommands } from "../src/model/run_commands";
import { progressView } from "../src/view/progress/progress_view";
import type { CommandPort } from "../src/view/progress/state";
import widget from "../src/widgets/progress_view";

const floats = (...values: number[]): DataView => new DataView(new Float32Array(values).buffer);

const RUN: ProgressTrait = {
  version: 1,
  live: true,
  state: "running",
  message: "",
  phase: "targeted",
  budget: 20_000,
  spent: 5000,
  stored: true,
  level: 0.9,
  estimator: "backup, reverse_kl",
  cost: { questions: 2, initial: 40, targeted: 900, seconds: 80, probe_rollouts: 24, probe_tokens: 500 },
  initial: { rollouts: 80, tokens: 2000, wanted: 80 },
  targeted: { rollouts: 200, tokens: 3000 },
  held_out: { rollouts: 0, tokens: 0, wanted: 0 },
  questions: { waiting: 0, working: 1, done: 1, read: 2 },
  warnings: [],
  teachers: [
    {
      name: "<img src=x onerror=alert(1)>",
      nodes: 12,
      scored: 8,
      sure: 5,
      width: 0.2,
      mean_width: 0.4,
      mean: -0.3,
      low: -0.4,
      high: -0.1,
    },
    { name: "B", nodes: 12, scored: 0, sure: 0, width: null, mean_width: null, mean: null, low: null, high: null },
  ],
  widest: [
    {
      question: "q1",
      title: "1+1=?",
      node: 7,
      depth: 30,
      before: "so <b>",
      cut: true,
      teacher: "B",
      middle: 0.5,
      low: -1,
      high: 1,
    },
  ],
  line: floats(2000, 0.5, 0.6, 5000, 0.2, 0.4),
  seconds: 12,
  speed: 400,
  left: 37,
  at: 1_700_000_000,
};
const CHOSEN = { question: "", node: -1, teacher: "" };
const QUIET: CommandPort = { now: () => ({ name: null, phase: "rest", error: null }), ask: () => undefined };

let root: HTMLElement;
beforeEach(() => {
  document.body.replaceChildren();
  root = document.body.appendChild(document.createElement("div"));
});
const text = (selector: string): string => root.querySelector(selector)?.textContent ?? "";

function shown(change: Partial<ProgressTrait> = {}, port = QUIET, select = vi.fn()) {
  const view = progressView(root, { select }, port);
  const update = (more: Partial<ProgressTrait> = {}, chosen = CHOSEN) => {
    const run = { ...RUN, ...change, ...more };
    view.update({ run, chosen, line: new Float32Array(run.line.buffer.slice(0)) });
  };
  update();
  return { view, update, select };
}

describe("the progress view", () => {
  it("says how far it is, for what, and how long it takes", () => {
    shown();
    expect(text(".opd-run-state")).toBe("running: targeted rollouts");
    expect(text(".opd-run-figures")).toBe("5\u2009000 of 20\u2009000 tokens · 400 tokens/s · about 37 s left");
    const bar = root.querySelector('[role="progressbar"]') as HTMLElement;
    expect(bar.getAttribute("aria-valuenow")).toBe("5000");
    expect((bar.children[0] as HTMLElement).style.width).toBe("10%");
    expect((bar.children[1] as HTMLElement).style.width).toBe("15%");
    expect(text(".opd-run-cost")).toContain("about 80 s of generating");
    expect(text('[aria-current="step"] dt')).toBe("targeted rollouts");
    expect(text('[aria-current="step"] dd')).toBe("200 rollouts · 3\u2009000 tokens");
  });

  it("shows what each teacher's nodes are known by, names as text, and a dash where nothing is", () => {
    shown();
    const rows = [...root.querySelectorAll(".opd-bought-table tbody tr")].map((row) =>
      [...row.children].map((cell) => cell.textContent),
    );
    expect(rows[0]).toEqual(["<img src=x onerror=alert(1)>", "5 of 8", "0.20", "0.40", "−0.30", "", "−0.40 to −0.10"]);
    expect(rows[1].slice(1)).toEqual(["0 of 0", "–", "–", "–", "", ""]);
    expect(root.querySelector("img")).toBeNull();
    expect(root.querySelectorAll(".opd-w")[0].classList).toContain("opd-w-below");
  });

  it("selects an open node, and shows which is selected", () => {
    const { update, select } = shown();
    const node = root.querySelector<HTMLButtonElement>(".opd-open-node");
    expect(text(".opd-open-before")).toBe("…so <b>");
    node?.click();
    expect(select).toHaveBeenCalledWith({ question: "q1", node: 7, teacher: "B" });
    update({}, { question: "q1", node: 7, teacher: "B" });
    expect(node?.getAttribute("aria-pressed")).toBe("true");
  });

  it("offers what can be done, and nothing on a page or at the end", () => {
    const ask = vi.fn();
    const { update } = shown({}, { ...QUIET, ask });
    const button = root.querySelector<HTMLButtonElement>(".opd-run-button") as HTMLButtonElement;
    expect(button.textContent).toBe("stop");
    button.click();
    update({ state: "stopping" });
    button.click();
    expect(button.getAttribute("aria-disabled")).toBe("true");
    update({ state: "stopped" });
    button.click();
    expect(ask.mock.calls).toEqual([["stop"], ["resume"]]);
    expect(root.querySelector<HTMLElement>(".opd-run-next")?.hidden).toBe(false);
    update({ state: "done" });
    expect(button.hidden).toBe(true);
    expect(text(".opd-run-code")).toBe("opd.AlignmentView(run.result)");
    update({ state: "stopped", live: false });
    expect(button.hidden).toBe(true);
    expect(root.querySelector<HTMLElement>(".opd-run-next")?.hidden).toBe(true);
  });

  it("says an error and the warnings, and speaks seldom", () => {
    const { update } = shown();
    const live = root.querySelector('[aria-live="polite"]') as HTMLElement;
    update({ spent: 5100 });
    expect(live.textContent).toBe("");
    update({ spent: 10_100 });
    expect(live.textContent).toBe("Diagnosis running, 50 percent of the budget spent");
    update({ state: "failed", message: "OSError: gone", warnings: ["3 of 80 rollouts are cut"] });
    expect(live.textContent).toBe("Diagnosis failed: OSError: gone");
    expect(text('[role="alert"]')).toBe("OSError: gone");
    expect(text(".opd-run-warnings")).toBe("3 of 80 rollouts are cut");
  });

  it.each([
    ["queued", "kernel busy: “stop” is queued"],
    ["lost", "no answer from the kernel: it is busy with a cell, or gone. “stop” can be sent again"],
  ])("says where a command stays: %s", (phase, words) => {
    shown({}, { ...QUIET, now: () => ({ name: "stop", phase, error: null }) });
    expect(text(".opd-run-answer")).toBe(words);
    expect(text(".opd-run-button")).toBe(phase === "lost" ? "stop again" : "stopping");
  });

  it("leaves nothing behind", () => {
    shown().view.destroy();
    expect(root.childNodes.length).toBe(0);
  });
});

describe("commands", () => {
  const never = () => new Promise<never>(() => undefined);
  it("tells a slow answer from none, and is done when the run's state shows it", () => {
    vi.useFakeTimers();
    const life = new AbortController();
    const commands = createRunCommands({ request: never }, life.signal, () => undefined);
    commands.ask("stop");
    expect(commands.now().phase).toBe("sent");
    vi.advanceTimersByTime(SLOW_MS);
    expect(commands.now().phase).toBe("queued");
    commands.settle("running");
    expect(commands.now().phase).toBe("queued");
    vi.advanceTimersByTime(LOST_MS);
    expect(commands.now().phase).toBe("lost");
    commands.settle("stopping");
    expect(commands.now().phase).toBe("rest");
    commands.ask("resume");
    life.abort();
    vi.advanceTimersByTime(LOST_MS);
    expect(commands.now().phase).toBe("sent"); // nothing ticks on after the view
    vi.useRealTimers();
  });

  it("keeps what Python refused it with", async () => {
    const request = () => Promise.reject(new RpcError("InvalidInputError", "it is running"));
    const commands = createRunCommands({ request }, new AbortController().signal, () => undefined);
    commands.ask("resume");
    await vi.waitFor(() => expect(commands.now()).toEqual({ name: "resume", phase: "failed", error: "it is running" }));
  });
});

describe("the widget", () => {
  it("draws the trait, and sends the button's request", async () => {
    const sent: unknown[] = [];
    const values: Record<string, unknown> = { progress: RUN, ...CHOSEN };
    const model = {
      get: (name: string) => values[name],
      set: vi.fn(),
      on: vi.fn(),
      off: vi.fn(),
      save_changes: vi.fn(),
      send: (content: unknown) => sent.push(content),
    };
    const { render } = widget as { render(props: object): () => void };
    const end = render({ model, el: root, signal: new AbortController().signal });
    root.querySelector<HTMLButtonElement>(".opd-run-button")?.click();
    expect(sent).toMatchObject([{ kind: "request", method: "stop", params: {} }]);
    end();
    expect(root.childNodes.length).toBe(0);
  });

  it.each([
    ["running", "stopped: the kernel has ended; what was drawn is kept in its folder"],
    ["stopped", "stopped: the kernel has ended; what was drawn is kept in its folder"],
    ["failed", "failed"],
    ["done", "finished"],
  ])("offers nothing once the kernel has ended, and says so: %s", async (state, words) => {
    const model = staticModel({ progress: { ...RUN, state }, ...CHOSEN });
    const el = document.body.appendChild(document.createElement("div"));
    const sent = vi.spyOn(model, "send");
    const { render } = widget as { render(props: object): () => void };
    const end = render({ model, el, signal: new AbortController().signal });
    const one = (selector: string): HTMLElement => el.querySelector<HTMLElement>(selector)!;
    one(".opd-run-button").click();
    const before = sent.mock.calls.length;
    el.classList.add("jupyter-widgets-disconnected");
    await vi.waitFor(() => expect(one(".opd-run-next").hidden).toBe(true)); // there is no `run` to ask for its result
    await vi.waitFor(() => expect(one(".opd-run-state").textContent).toBe(words));
    expect([one(".opd-run-button").hidden, one(".opd-run-answer").hidden]).toEqual([true, true]);
    expect(one(".opd-run-at").textContent).toBe("");
    one(".opd-run-button").click();
    expect(sent.mock.calls.length).toBe(before);
    end();
    el.remove();
  });
});

describe("the line of widths", () => {
  it("ends at a round number above the widest and at the budget", () => {
    const drawn = widthsLine(new Float32Array([1000, 0.5, 0.25, 4000, 0.1, 0.05]), 4000);
    expect(drawn).toMatchObject({ top: 0.5, median: "M25.00 0.00L100.00 80.00", mean: "M25.00 50.00L100.00 90.00" });
    expect(widthsLine(new Float32Array(0), 4000)).toBeNull();
  });
  it("has words for times and counts", () => {
    expect([0.44, 40, 720, 12_600].map(duration)).toEqual(["0.4 s", "40 s", "12 min", "3.5 h"]);
    expect([0, 999, 1_234_567].map(count)).toEqual(["0", "999", "1\u2009234\u2009567"]);
  });
});
