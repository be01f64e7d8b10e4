/** What the context card says of a teacher: what it sees, how long that is against what its model takes, and whether it holds the answer. */

import { plural } from "../../core/format";
import { isolated } from "../../core/plain_text";
import type { ContextMeta } from "../../model/contract";
import type { ViewState } from "../state";

export interface Leak {
  text: string;
  /** "yes", "no" or "unknown". */
  state: string;
}

export interface Facts {
  kind: string;
  /** null where there is no context that could hold an answer. */
  leak: Leak | null;
  lines: string[];
}

/** How the answer was looked for, so that nobody takes the badge for more. */
export const LEAK_HOW =
  "The question’s answer was looked for in the context’s text: as a number of its own, a choice or words. An answer put otherwise is not found.";

function leakOf(context: ContextMeta | null, stale: boolean): Leak | null {
  if (!context || context.leaks === undefined) return null;
  if (context.leaks === null) return { text: "answer not known", state: "unknown" };
  const whose = stale ? "scored context " : "";
  return context.leaks
    ? { text: `${whose}leaks the answer`, state: "yes" }
    : { text: `${whose}does not hold the answer`, state: "no" };
}

/** How long the context is; "scored" tells it from another text that stands below it. */
function contextLength(context: ContextMeta | null, stale: boolean): string[] {
  if (!context) return stale ? ["scored without a context"] : [];
  return [`${stale ? "scored context" : "context"} ${plural(context.tokens, "token")}, not in the student’s prompt`];
}

/** Lengths in tokens: of the context by itself, and of all that the model is given. */
function lengths({ data, rollout, teacher }: ViewState, stale: boolean): string {
  const context = data.context(rollout, teacher);
  const prompt = data.teacherPrompt(rollout, teacher);
  const limit = data.teachers.find((t) => t.name === teacher)?.limit ?? null;
  const parts = contextLength(context, stale);
  if (!prompt || prompt.tokens === 0) return parts.join(" · ");
  const response = data.responseTokens(rollout, teacher);
  const all = prompt.tokens + response;
  const room = limit === null ? "limit not known" : `of ${limit} the model takes`;
  return [...parts, `prompt ${prompt.tokens} + response ${response} = ${all} tokens, ${room}`].join(" · ");
}

/** `stale`: the card's text is a draft, and the facts are those of the context that was scored. */
export function contextFacts(state: ViewState, stale = false): Facts {
  const { data, rollout, teacher } = state;
  const meta = data.teachers.find((t) => t.name === teacher);
  const sees = [meta?.description ?? "", data.edited(rollout, teacher) ? "edited" : ""];
  const given = meta?.arguments?.length ? `chat template: ${meta.arguments.join(", ")}` : "";
  return {
    kind: `${isolated(teacher)} · ${(meta?.kind ?? "").replaceAll("_", " ")}`,
    leak: leakOf(data.context(rollout, teacher), stale),
    lines: [sees.filter(Boolean).join(" · "), lengths(state, stale), given].filter(Boolean),
  };
}
