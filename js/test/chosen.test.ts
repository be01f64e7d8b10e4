/** Linked views follow each other in the browser; what Python repeats on their own traits, later, moves none of them. */
import type { Host } from "@anywidget/types";
import { describe, expect, it, vi } from "vitest";
import { type StaticModel, staticModel } from "../src/host/static_model";
import type { SharedSelection } from "../src/model/shared_selection";
import { type Chosen, createChosen } from "../src/widgets/chosen";

interface Picked {
  rollout: number;
  token: number;
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
  const model = staticModel({ rollout: 0, token: -1, selection: shared ? "anywidget:s" : null, ...state });
  const life = new AbortController();
  const changed = vi.fn();
  const saved: string[] = [];
  const host = { getModel: async () => shared } as unknown as Host;
  if (shared) shared.save_changes = () => void saved.push("shared");
  model.save_changes = () => void saved.push("own");
  const chosen: Chosen<Picked> = createChosen<Picked>({
    model: model as never,
    host,
    fields: ["rollout", "token"],
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
    expect(chosen.get()).toEqual({ rollout: 1, token: 4 });
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
    expect(other.chosen.get()).toEqual({ rollout: 0, token: 5 });
    one.chosen.set({ rollout: 1, token: 6 });
    expect(other.chosen.get()).toEqual({ rollout: 0, token: 5 });
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
    expect(one.chosen.get()).toEqual({ rollout: 1, token: 2 });
    one.model.set("rollout", 1);
    one.model.set("token", 2);
    one.model.set("selection", null);
    await settled();
    one.chosen.set({ rollout: 0 });
    expect((shared.get("value") as SharedSelection).rollout).toBe("b");
    expect(one.model.get("rollout")).toBe(0);
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
    expect(one.changed).not.toHaveBeenCalled();
    expect(off).toHaveBeenCalledWith("change:value", expect.any(Function));
  });
});
