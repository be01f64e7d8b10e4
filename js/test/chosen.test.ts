/** Linked views follow each other in the browser; what Python repeats on their own traits, later, moves none of them. */
import type { Host } from "@anywidget/types";
import { describe, expect, it, vi } from "vitest";
import { makeScores } from "../dev/fixture";
import { type StaticModel, staticModel } from "../src/host/static_model";
import type { SharedSelection } from "../src/model/shared_selection";
import { type Chosen, createChosen } from "../src/widgets/chosen";
import tokenStrip from "../src/widgets/token_strip";

interface Picked {
  rollout: number;
  token: number;
  /** Not among what linked views share. */
  colour: string;
}

const NOTHING: SharedSelection = {
  question: null,
  rollout: null,
  token: null,
  node: null,
  teacher: null,
  signal: null,
};
const settled = (): Promise<void> => new Promise((done) => setTimeout(done));

/** A view that knows rollouts by the given ids. */
function view(ids: string[], shared: StaticModel | null, state: Record<string, unknown> = {}) {
  const model = staticModel({
    rollout: 0,
    token: -1,
    colour: "mean",
    selection: shared ? "anywidget:s" : null,
    ...state,
  });
  const life = new AbortController();
  const changed = vi.fn();
  const saved: string[] = [];
  const host = { getModel: async () => shared } as unknown as Host;
  if (shared) shared.save_changes = () => void saved.push("shared"); // of the view made last
  model.save_changes = () => void saved.push("own");
  const chosen: Chosen<Picked> = createChosen<Picked>({
    model: model as never,
    host,
    fields: ["rollout", "token", "colour"],
    apart: ["colour"],
    naming: {
      toShared: (_, whole) => ({ rollout: ids[whole.rollout], token: whole.token < 0 ? null : whole.token }),
      fromShared: ({ rollout, token }) =>
        ids.includes(rollout ?? "") ? { rollout: ids.indexOf(rollout as string), token: token ?? -1 } : {},
    },
    changed,
    signal: life.signal,
    frame: (run) => run(),
  });
  return { model, chosen, changed, saved, end: () => life.abort() };
}

describe("a view alone", () => {
  it("reads and writes its own traits, and saves only what differs", () => {
    const { model, chosen, changed, saved } = view(["a", "b"], null);
    chosen.set({ rollout: 1 });
    expect([model.get("rollout"), chosen.get().rollout, saved.length]).toEqual([1, 1, 1]);
    chosen.set({ rollout: 1 });
    expect(saved).toEqual(["own"]);
    model.set("token", 4);
    expect(chosen.get()).toMatchObject({ rollout: 1, token: 4 });
    expect(changed).toHaveBeenCalled();
  });

  it("keeps to its own traits where the host cannot find what is shared", async () => {
    const one = view(["a", "b"], null, { selection: "anywidget:gone" });
    await settled();
    one.chosen.set({ rollout: 1 });
    expect(one.model.get("rollout")).toBe(1);
  });
});

describe("linked views", () => {
  it("select the same by id, and keep their own where they do not have it", async () => {
    const shared = staticModel({ value: NOTHING });
    const one = view(["a", "b", "c"], shared);
    const other = view(["c", "a"], shared);
    await settled();
    one.chosen.set({ rollout: 2, token: 5 });
    expect(other.chosen.get()).toMatchObject({ rollout: 0, token: 5 });
    one.chosen.set({ rollout: 1, token: 6 });
    expect(other.chosen.get()).toMatchObject({ rollout: 0, token: 5 });
    expect((shared.get("value") as SharedSelection).rollout).toBe("b");
    expect(one.saved).not.toContain("own");
  });

  it("are not moved by what Python repeats on their own traits", async () => {
    const shared = staticModel({ value: NOTHING });
    const one = view(["a", "b"], shared);
    await settled();
    one.chosen.set({ rollout: 1, token: 7 });
    one.model.set("token", 5);
    expect(one.chosen.get().token).toBe(7);
  });

  it("take up what is shared already, and leave from where they are", async () => {
    const shared = staticModel({ value: { ...NOTHING, rollout: "b", token: 2 } });
    const one = view(["a", "b"], shared);
    await settled();
    expect(one.chosen.get()).toMatchObject({ rollout: 1, token: 2 });
    one.model.set("rollout", 1);
    one.model.set("token", 2);
    one.model.set("selection", null);
    await settled();
    one.chosen.set({ rollout: 0 });
    expect((shared.get("value") as SharedSelection).rollout).toBe("b");
    expect(one.model.get("rollout")).toBe(0);
  });

  it("are at the same rollout when the data are others, at whatever index it lies there", async () => {
    const shared = staticModel({ value: { ...NOTHING, rollout: "b", token: 2 } });
    const ids = ["a", "b"];
    const one = view(ids, shared);
    await settled();
    expect(one.chosen.get()).toMatchObject({ rollout: 1, token: 2 });
    ids.splice(0, 2, "z", "y", "b");
    expect(one.chosen.get()).toMatchObject({ rollout: 2, token: 2 });
    ids.splice(0, 3, "x");
    expect(one.chosen.get()).toMatchObject({ rollout: 2, token: 2 }); // it is not there: what a view makes of that is its own
  });

  it("keep to themselves what they do not share, heard from Python and written to it", async () => {
    const shared = staticModel({ value: NOTHING });
    const [one, other] = [view(["a", "b"], shared), view(["a", "b"], shared)];
    await settled();
    one.changed.mockClear();
    one.model.set("colour", "success");
    expect(one.chosen.get().colour).toBe("success");
    expect(one.changed).toHaveBeenCalled();
    const before = shared.get("value");
    one.saved.length = 0;
    one.chosen.set({ colour: "mean" });
    expect([one.model.get("colour"), one.chosen.get().colour]).toEqual(["mean", "mean"]);
    expect(one.saved).toEqual(["own"]);
    expect(shared.get("value")).toBe(before);
    other.chosen.set({ rollout: 1, colour: "success" });
    expect(other.saved.sort()).toEqual(["own", "shared"]);
    expect(one.chosen.get()).toMatchObject({ rollout: 1, colour: "mean" });
    expect(other.chosen.get()).toMatchObject({ rollout: 1, colour: "success" });
  });

  it("hear nothing more once they have ended", async () => {
    const shared = staticModel({ value: NOTHING });
    const off = vi.spyOn(shared, "off");
    const one = view(["a", "b"], shared);
    await settled();
    one.end();
    one.changed.mockClear();
    shared.set("value", { ...NOTHING, rollout: "b" });
    one.model.set("rollout", 1);
    one.model.set("colour", "success");
    expect(one.changed).not.toHaveBeenCalled();
    expect(off).toHaveBeenCalledWith("change:value", expect.any(Function));
  });
});

describe("a linked view of scores that are replaced", () => {
  const last = makeScores().meta.rollouts.length - 1;
  /** The same rollouts the other way round, or without one of them. */
  function turned(without?: string) {
    const scores = makeScores();
    const rollouts = scores.meta.rollouts.filter((r) => r.id !== without).reverse();
    return { ...scores, meta: { ...scores.meta, rollouts } };
  }

  async function show(place: Partial<SharedSelection>) {
    const shared = staticModel({ value: { ...NOTHING, ...place } });
    const model = staticModel({
      scores: makeScores(),
      rollout: 1,
      token: -1,
      teacher: "",
      signal: "advantage",
      selection: "anywidget:s",
    });
    const el = document.body.appendChild(document.createElement("div"));
    const { render } = tokenStrip as unknown as { render(props: object): () => void };
    const host = { getModel: async () => shared };
    const end = render({ model, el, signal: new AbortController().signal, host, experimental: {} });
    const drawn = (): Promise<void> => new Promise((done) => setTimeout(done, 50));
    await drawn();
    const replace = async (scores: unknown): Promise<void> => {
      model.set("scores", scores);
      await drawn();
    };
    const title = (): string => el.querySelector(".opd-title")?.textContent ?? "";
    const selected = (): number => el.querySelectorAll('.opd-strip [aria-selected="true"]').length;
    return { replace, title, selected, end };
  }

  it("shows the rollout that is shared", async () => {
    const { id } = makeScores().meta.rollouts[1];
    const { replace, title, end } = await show({ rollout: id, token: 2 });
    expect(title()).toContain("rollout 2");
    await replace(turned());
    expect(title()).toContain(`rollout ${last}`);
    end();
  });

  it("stays at its own where it lacks the shared one, and begins anew where its own is gone", async () => {
    const { replace, title, selected, end } = await show({ rollout: "elsewhere", token: 2 });
    expect(title()).toContain("rollout 2");
    await replace(turned());
    expect(title()).toContain(`rollout ${last}`);
    await replace(turned(makeScores().meta.rollouts[1].id));
    expect(title()).toContain("rollout 1");
    expect(selected()).toBe(0);
    end();
  });
});
