/** What is happening to an edit, in one line; and an error in full. */
import type { JobTrait } from "../model/contract";

export interface StatusInput {
  job: JobTrait;
  teacher: string;
  /** Of the rollout shown. */
  question: string;
  draft: { text: string | null; phase: string; error: string | null };
}

export interface Status {
  line: string;
  error: string | null;
  /** Whether there is anything to cancel. */
  busy: boolean;
  /** Share done of the running job; null where nothing is known. */
  share: number | null;
}

const seconds = (s: number): string => (s < 10 ? `${s.toFixed(2)} s` : `${s.toFixed(0)} s`);

export function contextStatus({ job, teacher, question, draft }: StatusInput): Status {
  const out: Status = { line: "", error: draft.error, busy: false, share: null };
  const running = job.state === "running";
  const own = (job.teacher ?? teacher) === teacher && (job.question ?? question) === question;
  if (draft.phase === "queued" && !running) return { ...out, line: "kernel busy: the edit is queued", busy: true };
  if (draft.phase === "typing") return { ...out, line: "edited", busy: running };
  if (running) {
    const counted = job.total > 0 ? ` ${job.done} of ${job.total}` : "";
    const line = `${own ? "scoring" : `scoring ${job.teacher ?? "another"}`}${counted} · ${seconds(job.seconds)}`;
    return { ...out, line, busy: true, share: job.total > 0 ? job.done / job.total : null };
  }
  if (draft.phase === "sent") return { ...out, line: "sent", busy: true };
  if (draft.error !== null) return { ...out, line: "not scored: the colours are of the context before" };
  if (!own) return out;
  if (job.state === "failed")
    return { ...out, line: "not scored: the colours are of the context before", error: job.message };
  if (job.state === "cancelled") return { ...out, line: "cancelled: the colours are of the context before" };
  if (job.state === "done" && draft.text === null) return { ...out, line: `rescored in ${seconds(job.seconds)}` };
  return draft.text === null ? out : { ...out, line: "edited" };
}
