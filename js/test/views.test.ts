import { describe, expect, it, vi } from "vitest";
import { makeScores, withoutTeachers } from "../dev/fixture";
import type { JobTrait, LiveTrait } from "../src/model/contract";
import { Dataset } from "../src/model/dataset";
import { contextStatus } from "../src/view/explorer/context_status";
import { nextSignal, splitSignals } from "../src/view/switches";
import explorer from "../src/widgets/explorer";
import tokenStrip from "../src/widgets/token_strip";
import { frame, JOB, scoresTraits, shown } from "./shown";

async function show(change: Record<string, unknown> = {}, widget = explorer) {
  const scores = makeScores();
  const found = await shown(widget, { ...scoresTraits(scores), ...change });
  const press = async (key: string, target = found.one(".opd-strip")): Promise<void> => {
    await found.press(key, target);
  };
  return { ...found, scores, press };
}

function type(field: HTMLElement, text: string): void {
  (field as HTMLTextAreaElement).value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** The cells of the strip: one that is broken over rows has several nodes. */
function stripCells(
  all: (selector: string) => HTMLElement[],
): { text: string; className: string; nodes: HTMLElement[] }[] {
  const cells: { text: string; className: string; nodes: HTMLElement[] }[] = [];
  for (const node of all(".opd-strip [data-cell]")) {
    const at = Number(node.dataset.cell);
    cells[at] ??= { text: "", className: node.className, nodes: [] };
    cells[at].text += node.textContent;
    cells[at].nodes.push(node);
  }
  return cells;
}

describe("token strip", () => {
  it("shows every cell's text and colours it by the current teacher", async () => {
    const { model, all, scores } = await show();
    const cells = all(".opd-strip .opd-cell");
    expect(cells.map((c) => c.textContent)).toEqual(Dataset.read(scores, null).rollout(1).cells.texts);
    const before = cells.map((c) => c.className);
    expect(before.some((c) => /opd-v-n\d/.test(c))).toBe(true);
    model.set("teacher", "Self + wrong");
    await frame();
    const after = all(".opd-strip .opd-cell");
    expect(after[0]).toBe(cells[0]);
    expect(after.map((c) => c.className)).not.toEqual(before);
  });

  it("marks what is no number, and what is not the student's", async () => {
    const { all } = await show({ rollout: 23 });
    const classes = stripCells(all).map((c) => c.className);
    expect(classes[3]).toContain("opd-v-ninf");
    expect(classes[5]).toContain("opd-v-inf");
    expect(classes[8]).toContain("opd-v-nan");
    expect(classes.filter((c) => c.includes("opd-masked"))).not.toHaveLength(0);
  });

  it("keeps hostile text text", async () => {
    const { el, all } = await show({ rollout: 23, token: 1 });
    expect(all("img, script, b")).toHaveLength(0);
    expect(el.textContent).toContain("<img src=x onerror=alert(1)>");
    expect(stripCells(all).map((c) => c.text)).toContain("&amp;");
  });

  it("copies the true text, line breaks and all", async () => {
    const { all, scores } = await show({ rollout: 23 });
    const { texts } = Dataset.read(scores, null).rollout(23).cells;
    expect(texts.join("")).toContain("\n");
    const cells = stripCells(all).map((c) => c.nodes);
    const copied = (from: Node, to: Node): string | null => {
      const range = document.createRange();
      range.setStartBefore(from);
      range.setEndAfter(to);
      document.getSelection()?.removeAllRanges();
      document.getSelection()?.addRange(range);
      const setData = vi.fn();
      const clipboardData = { setData };
      const event = Object.assign(new Event("copy", { bubbles: true, cancelable: true }), { clipboardData });
      cells[0][0].dispatchEvent(event);
      expect(event.defaultPrevented).toBe(setData.mock.calls.length > 0);
      return setData.mock.calls[0]?.[1] ?? null;
    };
    expect(copied(cells[0][0], cells.at(-1)!.at(-1)!)).toBe(texts.join(""));
    expect(copied(cells[2][0], cells[9].at(-1)!)).toBe(texts.slice(2, 10).join(""));
    expect(copied(document.body, cells[9][0])).toBeNull();
  });

  it("stands alone with its keys", async () => {
    const { model, press } = await show({}, tokenStrip as typeof explorer);
    await press("End");
    expect(model.get("token")).toBe(19);
    await press("2");
    expect(model.get("teacher")).toBe("Self + solution");
  });
});

describe("all teachers", () => {
  it("keeps its cells through every switch, and selects by click and by arrow", async () => {
    const { model, all, one, press } = await show();
    const cells = all(".opd-trow .opd-cell");
    expect(cells).toHaveLength(5 * 20);
    one('[data-teacher-row="Other style"] [data-cell="4"]').click();
    await frame();
    expect([model.get("teacher"), model.get("token")]).toEqual(["Other style", 4]);
    await press("ArrowUp", one('[data-teacher-row="Other style"]'));
    expect(model.get("teacher")).toBe("Self + wrong");
    expect(all('.opd-trow[aria-checked="true"]')).toHaveLength(1);
    expect(all(".opd-trow .opd-cell[data-selected]")).toHaveLength(5);
    expect(all(".opd-trow .opd-cell")).toEqual(cells);
  });
});

describe("keyboard", () => {
  it("walks tokens, jumps to the largest, switches teacher and signal, moves rollouts", async () => {
    const { model, press, one } = await show();
    await press("n");
    const largest = model.get("token") as number;
    expect(one(".opd-jump-text").textContent).toMatch(/^largest/);
    await press("n");
    expect(model.get("token")).not.toBe(largest);
    await press("p");
    expect(model.get("token")).toBe(largest);
    await press("ArrowRight");
    expect(model.get("token")).toBe(largest + 1);
    await press("s");
    expect(model.get("signal")).toBe("reverse_kl");
    await press("S");
    expect(model.get("signal")).toBe("advantage");
    await press("j");
    expect(model.get("rollout")).toBe(2);
    await press("ArrowUp", one(".opd-list"));
    expect(model.get("rollout")).toBe(1);
    await press("?");
    expect(one(".opd-help").hidden).toBe(false);
  });

  it("counts every key, however many come within a frame", async () => {
    const { model, one } = await show({ token: 0 });
    for (let i = 0; i < 5; i++) {
      one(".opd-strip").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    }
    expect(model.get("token")).toBe(5);
  });

  it("leaves keys alone where text is typed", async () => {
    const { model, press, one } = await show({ teacher: "Self + solution" });
    await press("1", one(".opd-context-text"));
    await press("s", one(".opd-find"));
    expect(model.get("teacher")).toBe("Self + solution");
    expect(model.get("signal")).toBe("advantage");
  });
});

describe("selection", () => {
  it("is shown whatever Python set, and a token that is out of range is none", async () => {
    const { model, one, all } = await show({ rollout: 99, token: 500, teacher: "nobody", signal: "nothing" });
    expect(one(".opd-panel .opd-hint")).not.toBeNull();
    expect(all('[data-rollout="23"][aria-selected="true"]')).toHaveLength(1);
    model.set("rollout", 0);
    model.set("token", 2);
    await frame();
    expect(one(".opd-panel .opd-heading").textContent).toBe("Token 3 of 18");
    expect(all('.opd-strip [aria-selected="true"]')).toHaveLength(1);
  });

  it("drops the token on the way to a shorter rollout, and saves once a frame", async () => {
    const { model, press, one } = await show({ rollout: 1, token: 19 });
    const save = vi.spyOn(model, "save_changes");
    one('[data-rollout="0"]').click();
    one('[data-teacher="Other style"]').click();
    await frame();
    expect(model.get("token")).toBe(-1);
    expect(save).toHaveBeenCalledTimes(1);
    await press("Home");
    expect(model.get("token")).toBe(0);
  });
});

describe("scores without a teacher", () => {
  it("fall back to a signal that is there, and show the student alone", async () => {
    const { one, all, press, model, el } = await show({ scores: withoutTeachers(makeScores()), teacher: "", token: 3 });
    const first = makeScores().meta.signals.find((s) => !s.per_teacher)!;
    expect(one('.opd-signal-switch [aria-checked="true"]').textContent).toBe(first.label);
    expect(all(".opd-signal-switch [aria-disabled]")).toHaveLength(0);
    expect(one(".opd-teacher-switch").hidden && one(".opd-trows").hidden && one(".opd-context").hidden).toBe(true);
    expect(all(".opd-strip .opd-cell").some((c) => /opd-v-[pq]\d/.test(c.className))).toBe(true);
    expect(all(".opd-top thead th")).toHaveLength(1);
    expect(one(".opd-signal-values caption").textContent).toBe("Signals");
    expect(one(".opd-standing").textContent).not.toContain(": not recorded");
    await press("s");
    expect(model.get("signal")).not.toBe(first.name);
    expect(el.textContent).not.toContain("could not be read");
  });
});

describe("live scores", () => {
  it("recolours strip, list and prompt", async () => {
    const { model, one, scores } = await show({ teacher: "Self + solution" });
    const mean = (): string => one('[data-rollout="1"] .opd-row-mean').textContent!;
    const before = mean();
    const { length } = scores.meta.rollouts[1];
    const planes = scores.meta.planes.filter((p) => p.teacher === "Self + solution").length;
    const live: LiveTrait = {
      vocab: {},
      entries: [
        {
          teacher: "Self + solution",
          rollout: 1,
          context: { text: "<b>new</b>", tokens: 3 },
          prompt: { cells: { starts: [0], texts: ["<b>new</b>"], kinds: "t" }, tokens: 1, differs: [0, 1] },
          values: new DataView(new Float32Array(planes * length).fill(9).buffer),
          top: null,
        },
      ],
    };
    model.set("live", live);
    await frame();
    expect(before).not.toBe("+9.00");
    expect(mean()).toBe("+9.00");
    expect(one(".opd-strip .opd-cell").className).toContain("opd-v-p");
    const high = (): string => one(".opd-legend-number:last-child").textContent!;
    expect(high()).toBe("+10");
    const beyond = new DataView(new Float32Array(planes * length).fill(11).buffer);
    model.set("live", { vocab: {}, entries: [{ ...live.entries[0], values: beyond }] });
    await frame();
    expect(high()).toBe("≥ +10");
    expect(one(".opd-only-teacher").textContent).toBe("<b>new</b>");
    expect((one(".opd-context-text") as HTMLTextAreaElement).value).toBe("<b>new</b>");
  });
});

describe("context editor", () => {
  const draft = { text: null, phase: "rest", error: null };
  it("is read only without a model, and has no text where there is no context", async () => {
    const { one, model } = await show({ teacher: "Self + solution", job: { ...JOB, state: "none" } });
    expect((one(".opd-context-text") as HTMLTextAreaElement).readOnly).toBe(true);
    expect(one(".opd-context-reset").hidden).toBe(true);
    model.set("teacher", "Teacher 0.5M");
    await frame();
    expect(one(".opd-context-text").hidden && one(".opd-context-leak").hidden).toBe(true);
    expect(one(".opd-context-facts").textContent).toContain("t06, sees the question");
  });

  it("says what is going on", () => {
    const at = (job: Partial<JobTrait>, more = {}): string =>
      contextStatus({ job: { ...JOB, ...job }, teacher: "T", question: "q", draft: { ...draft, ...more } }).line;
    expect(at({ state: "running", teacher: "T", done: 2, total: 9, seconds: 0.4 })).toBe("scoring 2 of 9 · 0.40 s");
    expect(at({ state: "done", seconds: 0.04, teacher: "T" })).toBe("rescored in 0.04 s");
    expect(at({}, { phase: "queued", text: "x" })).toBe("kernel busy: the edit is queued");
    expect(at({}, { phase: "queued" })).toBe("kernel busy: the reset is queued");
    expect(at({ state: "cancelled" })).toContain("context before");
    expect(at({ state: "cancelled", done: 2, total: 9 })).toBe("cancelled: 2 of 9 rescored");
    expect(at({ state: "failed", done: 2, total: 9, message: "no room" })).toBe("failed after 2 of 9: no room");
    expect(at({ state: "done", teacher: "U" }, { text: "x" })).toBe("edited");
    const failed = contextStatus({
      job: { ...JOB, state: "failed", message: "no room" },
      teacher: "T",
      question: "q",
      draft,
    });
    expect(failed.error).toBe("no room");
  });

  it("says that there is no answer, whatever the job says, and offers to send again", async () => {
    const lost = { text: "x", phase: "lost", error: null };
    const now = contextStatus({ job: { ...JOB, state: "running" }, teacher: "T", question: "q", draft: lost });
    expect(now).toMatchObject({ busy: true, lost: true });
    expect(now.line).toBe("no answer from the kernel: the edit is kept and will be sent again");

    const { one, model } = await show({ teacher: "Self + solution" });
    const send = vi.spyOn(model, "send") as unknown as { mock: { calls: [{ params: object }][] } };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    type(one(".opd-context-text"), "x");
    vi.advanceTimersByTime(20_250);
    vi.useRealTimers();
    await frame();
    expect(one(".opd-job-status").textContent).toContain("no answer from the kernel");
    expect(one(".opd-context-cancel").textContent).toBe("send again");
    const before = send.mock.calls.length;
    one(".opd-context-cancel").click();
    await frame();
    expect(send.mock.calls.slice(before).at(-1)?.[0].params).toMatchObject({ text: "x", rollout: 1 });
    expect(one(".opd-context-cancel").textContent).toBe("cancel");
  });

  it("cancels the job that runs, which may be another teacher’s", async () => {
    const job = { ...JOB, state: "running" as const, teacher: "Self + answer", question: "another", total: 3 };
    const { one, model } = await show({ teacher: "Self + solution", job });
    const send = vi.spyOn(model, "send");
    one(".opd-context-cancel").click();
    expect(send).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ method: "cancel_job", params: { teacher: "Self + answer", question: "another" } }),
    );
  });

  it("shows a draft on every rollout of its question", async () => {
    const { one, model } = await show({ teacher: "Self + solution", rollout: 1 });
    type(one(".opd-context-text"), "my own words");
    model.set("rollout", 2);
    await frame();
    expect((one(".opd-context-text") as HTMLTextAreaElement).value).toBe("my own words");
    model.set("rollout", 3);
    await frame();
    expect((one(".opd-context-text") as HTMLTextAreaElement).value).not.toBe("my own words");
  });

  it("keeps what was typed while scores arrive and teachers change", async () => {
    const { one, model } = await show({ teacher: "Self + solution" });
    const input = one(".opd-context-text") as HTMLTextAreaElement;
    type(input, "my own words");
    model.set("teacher", "Self + answer");
    await frame();
    expect(input.value).not.toBe("my own words");
    model.set("teacher", "Self + solution");
    await frame();
    expect(input.value).toBe("my own words");
  });
});

describe("signals", () => {
  it("go round over the available ones", () => {
    const { signals } = makeScores().meta;
    expect(splitSignals(signals).main.map((s) => s.name)).toEqual([
      "advantage",
      "reverse_kl",
      "forward_kl",
      "student_entropy",
    ]);
    expect(nextSignal(signals, "advantage", -1)).toBe("jsd");
    expect(nextSignal(signals, "jsd", 1)).toBe("advantage");
  });
});

describe("end", () => {
  it("leaves nothing behind, by cleanup or by signal, once", async () => {
    for (const way of ["end", "abort"] as const) {
      const { el, model, end, life } = await show();
      const off = vi.spyOn(model, "off");
      const root = el.firstElementChild as HTMLElement;
      if (way === "end") end();
      else life.abort();
      end();
      expect(el.childElementCount).toBe(0);
      expect(off.mock.calls.map(([event]) => event)).toEqual(
        expect.arrayContaining(["change:scores", "change:token", "msg:custom"]),
      );
      model.set("rollout", 3);
      root.dispatchEvent(new KeyboardEvent("keydown", { key: "3", bubbles: true }));
      await frame();
      expect(model.get("teacher")).toBe("Teacher 0.5M");
      expect(root.childElementCount).toBeLessThanOrEqual(1);
    }
  });

  it("says so where there is nothing yet", async () => {
    const { one } = await show({ scores: {} });
    expect(one(".opd-empty").textContent).toBe("No scores yet.");
  });
});
