/** The page for looking: `npm run build -- --dev`, then open dev/out/index.html?widget=explorer&theme=dark&rollout=1&token=8. */
import explorer from "../src/widgets/explorer";
import rolloutList from "../src/widgets/rollout_list";
import tokenPanel from "../src/widgets/token_panel";
import tokenStrip from "../src/widgets/token_strip";
import { makeScores, withoutTeachers } from "./fixture";
import { liveModel } from "./kernel";

const asked = new URLSearchParams(location.search);
const number = (name: string, otherwise: number): number => Number(asked.get(name) ?? otherwise);
const widgets = { explorer, rollout_list: rolloutList, token_panel: tokenPanel, token_strip: tokenStrip };
const widget = widgets[(asked.get("widget") ?? "explorer") as keyof typeof widgets];
document.body.dataset.theme = asked.get("theme") ?? "light";
document.body.style.cssText = `margin:0;padding:${asked.get("pad") ?? 16}px;background:${asked.get("theme") === "dark" ? "#16181b" : "#fff"}`;
const traits = {
  scores: asked.has("alone") ? withoutTeachers(makeScores(24)) : makeScores(number("rollouts", 24)),
  live: { entries: [], vocab: {} },
  job: { state: asked.get("job") ?? "idle", teacher: null, question: null, done: 0, total: 0, seconds: 0, message: "" },
  rollout: number("rollout", 1),
  token: number("token", -1),
  teacher: asked.get("teacher") ?? "Teacher 0.5M",
  signal: asked.get("signal") ?? "advantage",
};
const model = liveModel(traits, { delay: number("delay", 120), mute: asked.has("mute") });
const el = document.body.appendChild(document.createElement("div"));
const { signal } = new AbortController();
Object.assign(window, { model, scores: model.get("scores") });
if (typeof widget === "object") void widget.render?.({ model, el, signal, host: {}, experimental: {} } as never);
