import { describe, expect, it, vi } from "vitest";
import { makeScores } from "../dev/fixture";
import { followKernel } from "../src/host/kernel";
import { staticModel } from "../src/host/static_model";
import { createContextSession, LOST_MS, PAUSE_MS } from "../src/model/context_session";
import { contextStatus } from "../src/view/explorer/context_status";
import tokenPanel from "../src/widgets/token_panel";

type Slot = (sender: unknown, value: never) => void;

function emitter() {
  const slots = new Set<Slot>();
  return {
    slots,
    connect: (slot: Slot) => slots.size < slots.add(slot).size,
    disconnect: (slot: Slot) => slots.delete(slot),
    emit: (value: unknown) => [...slots].forEach((slot) => void slot(null, value as never)),
  };
}

function start(id: string | null = "one") {
  const statusChanged = emitter();
  const kernelChanged = emitter();
  const manager = {
    context: { sessionContext: { statusChanged, kernelChanged, session: { kernel: id ? { id } : null } } },
  };
  const el = document.body.appendChild(document.createElement("div"));
  const life = new AbortController();
  const changed = vi.fn();
  return { kernel: followKernel(manager, el, life.signal, changed), statusChanged, kernelChanged, el, life, changed };
}

describe("the end of a kernel", () => {
  it.each(["restarting", "autorestarting", "terminating", "dead"])("is said by the status %s, once", (status) => {
    const { kernel, statusChanged, kernelChanged, changed } = start();
    for (const harmless of ["idle", "busy", "unknown", "starting"]) statusChanged.emit(harmless);
    expect(kernel.ended).toBe(false);
    statusChanged.emit(status);
    statusChanged.emit("idle");
    expect(kernel.ended).toBe(true);
    expect(changed).toHaveBeenCalledTimes(1);
    expect(statusChanged.slots.size + kernelChanged.slots.size).toBe(0);
  });

  it("is said by another kernel or none, and not by the first one a session gets", () => {
    const shut = start();
    shut.kernelChanged.emit({ newValue: { id: "one" } });
    expect(shut.kernel.ended).toBe(false);
    shut.kernelChanged.emit({ newValue: null });
    expect(shut.kernel.ended).toBe(true);
    const late = start(null);
    late.kernelChanged.emit({ newValue: { id: "two" } });
    expect(late.kernel.ended).toBe(false);
    late.kernelChanged.emit({ newValue: { id: "three" } });
    expect(late.kernel.ended).toBe(true);
  });

  it("is said by the class that ipywidgets gives a view without a comm, before or after its start", async () => {
    const { el, kernel, changed } = start();
    el.classList.add("jupyter-widgets-disconnected");
    await vi.waitFor(() => expect(kernel.ended).toBe(true));
    expect(changed).toHaveBeenCalledTimes(1);
    expect(followKernel(undefined, el, new AbortController().signal, changed).ended).toBe(true);
  });

  it("is not looked for once the view has ended, and nothing is left behind", async () => {
    const { el, life, kernel, statusChanged, kernelChanged, changed } = start();
    life.abort();
    expect(statusChanged.slots.size + kernelChanged.slots.size).toBe(0);
    el.classList.add("jupyter-widgets-disconnected");
    await new Promise((done) => setTimeout(done, 20));
    expect(kernel.ended).toBe(false);
    expect(changed).not.toHaveBeenCalled();
  });
});

it("leaves nothing to cancel or to wait for, whatever the job was at", () => {
  const job = { state: "running", teacher: "T", question: "q", done: 1, total: 3, seconds: 1, message: "" } as const;
  const draft = { text: "mine", phase: "sent", error: null };
  const status = contextStatus({ job, teacher: "T", question: "q", draft, kernelEnded: true });
  expect(status).toMatchObject({ busy: false, lost: false, share: null, failed: true });
  expect(status.line).toBe("the kernel has ended: to score, run this cell again; the edit stays here, unscored");
});

it("stops what an edit does on its way, and keeps its text", async () => {
  vi.useFakeTimers();
  let ended = false;
  const request = vi.fn(() => new Promise<Record<string, unknown>>(() => undefined));
  const session = createContextSession(
    { request },
    new AbortController().signal,
    () => undefined,
    () => ended,
  );
  const place = { teacher: "T", question: "q", rollout: 0 };
  session.edit(place, "first");
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
  expect(request).toHaveBeenCalledTimes(1);
  ended = true;
  session.prepare(place);
  session.edit(place, "second");
  session.resend(place);
  session.reset({ ...place, teacher: "U" });
  session.cancel(place, { teacher: "T", question: "q" });
  await vi.advanceTimersByTimeAsync(10 * LOST_MS);
  expect(request).toHaveBeenCalledTimes(1);
  expect(session.draft(place).text).toBe("second");
  vi.useRealTimers();
});

it("is said in place of the likeliest tokens that were not fetched before", async () => {
  const scores = makeScores();
  scores.meta.top_source = "on_request";
  const model = staticModel({ scores, rollout: 0, token: 1, teacher: "", signal: "advantage" });
  const send = vi.spyOn(model, "send");
  const el = document.body.appendChild(document.createElement("div"));
  const { render } = tokenPanel as unknown as { render(props: object): () => void };
  const end = render({ model, el, signal: new AbortController().signal, host: {}, experimental: {} });
  const words = (): string => el.querySelector(".opd-top-box")?.textContent ?? "";
  await vi.waitFor(() => expect(words()).toBe("Fetching the likeliest tokens …"));
  await vi.waitFor(() => expect(send).toHaveBeenCalledTimes(1));
  el.classList.add("jupyter-widgets-disconnected");
  await vi.waitFor(() => expect(words()).toBe("The kernel has ended: for the likeliest tokens, run this cell again."));
  model.set("token", 2);
  await new Promise((done) => setTimeout(done, 50));
  expect(send).toHaveBeenCalledTimes(1);
  end();
  el.remove();
});
