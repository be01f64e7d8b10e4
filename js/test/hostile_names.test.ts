import { expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import { harmless, isolated } from "../src/core/plain_text";
import alignmentView from "../src/widgets/alignment_view";
import compare from "../src/widgets/compare";
import explorer from "../src/widgets/explorer";
import { alignment, CHOSEN, places } from "./alignment_made";
import { frame, scoresTraits, shown } from "./shown";

/** Turns round what follows it on the screen. */
const TURN = "\u202e";
const READ = ["title", "placeholder", "aria-label", "aria-description", "aria-valuetext"];

/** Everything in an element that is read by people. */
function read(el: Element): string[] {
  const nodes = [...el.querySelectorAll("*")];
  const texts = nodes.filter((node) => node.childElementCount === 0).map((node) => node.textContent ?? "");
  return [el.textContent ?? "", ...texts, ...nodes.flatMap((n) => READ.map((name) => n.getAttribute(name) ?? ""))];
}
const unsafe = (el: Element): string[] => read(el).filter((text) => harmless(text) !== text);

/** Scores whose teachers' names all turn round what follows, and whose first has no advantage. */
function turning() {
  const scores = makeScores();
  scores.meta.generation = 7;
  const { meta } = scores;
  meta.planes = meta.planes.filter((plane) => plane.teacher !== meta.teachers[0].name || plane.signal !== "advantage");
  const rows = meta.planes.length * meta.tokens;
  scores.values = new DataView(scores.values.buffer, scores.values.byteOffset, 4 * rows);
  for (const plane of meta.planes) if (plane.teacher !== null) plane.teacher += TURN;
  for (const teacher of meta.teachers) teacher.name += TURN;
  return scores;
}

it("a name that turns text round turns none, on the screen or for a screen reader", async () => {
  const scores = turning();
  const [a, b] = scores.meta.teachers.map((t) => t.name);
  const seen = await shown(explorer, { ...scoresTraits(scores), teacher: a, token: 2 });
  expect(seen.one(".opd-absent").textContent).toContain("⟨U+202E⟩ has no ");
  expect(unsafe(seen.el)).toEqual([]);

  const steps = { generation: 7, first: null, others: [], limits: {} };
  const more = { teacher: b, token: 2, compared: [a, b], across: "teachers", step: 0, limits: {}, steps };
  const beside = await shown(compare, { ...scoresTraits(scores), ...more });
  expect(unsafe(beside.el)).toEqual([]);
  beside.model.set("across", "rollouts");
  await frame();
  expect(unsafe(beside.el)).toEqual([]);

  const found = places();
  found.meta.teachers[0].name += TURN;
  const node = { node: 0, rollout: "q/0", token: 0, teacher: `A${TURN}` };
  const aligned = await shown(alignmentView, { places: found, alignment: alignment(), ...CHOSEN, ...node });
  expect(aligned.one(".opd-s").getAttribute("aria-label")).toContain("A⟨U+202E⟩: raises y");
  expect(unsafe(aligned.el)).toEqual([]);
});

it("is a mark in a sentence of whatever is made of it", () => {
  expect(isolated(`T${TURN}`)).toBe("T⟨U+202E⟩");
});
