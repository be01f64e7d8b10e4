/** What a tree is drawn of: places and tree of one diagnosis, and its own visits and colouring where the rest is shared. */
import { describe, expect, it } from "vitest";
import { ENDINGS } from "../src/core/tree/question";
import { type StaticModel, staticModel } from "../src/host/static_model";
import type { PlacesTrait } from "../src/model/diagnosis_contract";
import type { TreeQuestionTrait, TreeTrait } from "../src/model/tree_contract";
import { treeKind } from "../src/widgets/tree_source";
import treeView from "../src/widgets/tree_view";

const view = (array: ArrayBufferView): DataView => new DataView(array.buffer, array.byteOffset, array.byteLength);
const int32 = (...values: number[]): DataView => view(new Int32Array(values));
const bytes = (...values: number[]): DataView => view(new Uint8Array(values));

/** Questions of one rollout, one token long, with one node before it. */
function diagnosis(questions: string[], teachers: string[]): { places: PlacesTrait; tree: TreeTrait } {
  const rollout = (offset: number) => ({ index: 0, offset, length: 1, outcome: "correct", status: "stop" }) as const;
  const one: TreeQuestionTrait = {
    parent: int32(-1, 0),
    depth: int32(0, 1),
    tokens: view(new Uint16Array([0])),
    leaf: int32(1),
    begin: int32(0),
    ending: bytes(0),
    estimate_place: int32(),
    estimate_at_node: bytes(),
    estimates: int32(),
    node_place: int32(0),
    alignments: view(new Float32Array(3 * teachers.length)),
    verdict: view(new Uint8Array(teachers.length)),
  };
  return {
    places: {
      meta: {
        version: 1,
        student: "s",
        teachers: teachers.map((name) => ({ name, description: "" })),
        questions: questions.map((id, i) => ({ id, title: id, nodes: 1, drawn: 1, rollouts: [rollout(i)] })),
        vocab: { 7: ["x", "t"] },
        tokens: questions.length,
        notes: [],
      },
      token_ids: view(new Uint32Array(questions.map(() => 7))),
      node_at: int32(...questions.map(() => 0)),
    },
    tree: {
      meta: {
        version: 1,
        questions: questions.map(() => ({ places: 2, tokens: 1, rollouts: 1, nodes: 1, estimates: 0 })),
        ids: [7],
        token_bytes: 2,
        verdicts: [""],
        endings: [...ENDINGS],
        level: 0.9,
      },
      questions: questions.map(() => one),
    },
  };
}

const CHOSEN = {
  question: "b",
  rollout: "",
  token: -1,
  node: -1,
  teacher: "A",
  visits: "all" as const,
  colour: "mean" as const,
};
const source = (model: StaticModel) =>
  treeKind.source(model as never, () => undefined, new AbortController().signal, { ended: false });

describe("traits that come one after the other", () => {
  const before = diagnosis(["a", "b"], ["A"]);
  it.each([
    ["other questions, places first", "places", diagnosis(["b"], ["A"])],
    ["other questions, tree first", "tree", diagnosis(["c", "d", "b"], ["A"])],
    ["other teachers, places first", "places", diagnosis(["b", "c"], ["A", "B"])],
    ["other teachers, tree first", "tree", diagnosis(["b", "c"], ["A", "B"])],
  ] as const)("show the last diagnosis until both are there: %s", (_, first, after) => {
    const model = staticModel({ ...before });
    const from = source(model);
    const shown = from.state(CHOSEN);
    expect(shown?.question).toBe(1);
    model.set(first, after[first]);
    const meanwhile = from.state(CHOSEN);
    expect(meanwhile?.tree).toBe(shown?.tree);
    expect(meanwhile?.places).toBe(shown?.places);
    const second = first === "tree" ? "places" : "tree";
    model.set(second, after[second]);
    const state = from.state(CHOSEN);
    expect(state?.places.questions[state.question].id).toBe("b");
    expect(state?.places.teachers).toHaveLength(after.places.meta.teachers.length);
    expect(state?.tree).not.toBe(shown?.tree);
  });

  it("show nothing until the first two are there", () => {
    const model = staticModel({ places: before.places, tree: diagnosis(["a"], ["A"]).tree });
    const from = source(model);
    expect(from.state(CHOSEN)).toBeNull();
    model.set("tree", before.tree);
    expect(from.state(CHOSEN)?.question).toBe(1);
  });
});

it("a linked tree hears and writes its own visits and colouring", async () => {
  const place = { question: "b", rollout: null, token: null, node: null, teacher: "A", signal: null };
  const shared = staticModel({ value: place });
  const model = staticModel({ ...diagnosis(["a", "b"], ["A"]), ...CHOSEN, question: "a", selection: "anywidget:s" });
  const el = document.body.appendChild(document.createElement("div"));
  const { render } = treeView as unknown as { render(props: object): () => void };
  const host = { getModel: async () => shared };
  const end = render({ model, el, signal: new AbortController().signal, host, experimental: {} });
  const drawn = (): Promise<void> => new Promise((done) => setTimeout(done, 50));
  await drawn();
  const pressed = (): string[] =>
    [...el.querySelectorAll('[aria-checked="true"], [aria-pressed="true"]')].map((node) => node.textContent ?? "");
  const before = pressed();
  model.set("colour", "success");
  model.set("visits", "initial");
  await drawn();
  const after = pressed();
  expect(after).not.toEqual(before);
  const others = [...el.querySelectorAll<HTMLElement>('[aria-checked="false"], [aria-pressed="false"]')];
  for (const node of others) if (before.includes(node.textContent ?? "")) node.click();
  await drawn();
  expect([model.get("colour"), model.get("visits")]).toEqual(["mean", "all"]);
  expect(shared.get("value")).toBe(place);
  end();
  el.remove();
});
