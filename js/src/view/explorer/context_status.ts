/** What is happening to an edit, in one line; and an error in full. */
import { isolated } from "../../core/plain_text";
import type { JobTrait } from "../../model/contract";

export interface StatusInput {
  job: JobTrait;
  teacher: string;
  /** Of the rollout shown. */
  question: string;
  draft: { text: string | null; phase: string; error: string | null };
  /** Whether the kernel has ended. */
  kernelEnded?: boolean;
}

export interface Status {
  line: string;
  error: string | null;
  /** Whether there is anything to cancel. */
  busy: boolean;
  /** Share done of the running job; null where nothing is known. */
  share: number | null;
  /** Whether there was no answer for so long that the reader may send it again. */
  lost: boolean;
  /** Whether the line tells of a failure. */
  failed: boolean;
}

const seconds = (s: number): string => (s < 10 ? `${s.toFixed(2)} s` : `${s.toFixed(0)} s`);

const BEFORE = "the colours are of the context before";

/** How this context's own job ended short of its end. What had been rescored by then stays. */
function ended(job: JobTrait): Partial<Status> {
  const count = `${job.done} of ${job.total}`;
  if (job.state === "cancelled")
    return { line: job.done > 0 ? `cancelled: ${count} rescored` : `cancelled: ${BEFORE}` };
  if (job.done > 0) return { line: `failed after ${count}: ${job.message}`, failed: true };
  return { line: `not scored: ${BEFORE}`, error: job.message };
}

export function contextStatus({ job, teacher, question, draft, kernelEnded }: StatusInput): Status {
  const out: Status = { line: "", error: draft.error, busy: false, share: null, lost: false, failed: false };
  if (kernelEnded) {
    const kept = draft.text === null ? "" : "; the edit stays here, unscored";
    return { ...out, line: `the kernel has ended: to score, run this cell again${kept}`, error: null, failed: true };
  }
  const running = job.state === "running";
  const own = (job.teacher ?? teacher) === teacher && (job.question ?? question) === question;
  const what = draft.text === null ? "reset" : "edit";
  if (draft.phase === "lost") {
    const line = `no answer from the kernel: the ${what} is kept and will be sent again`;
    return { ...out, line, busy: true, lost: true };
  }
  if (draft.phase === "queued" && !running) return { ...out, line: `kernel busy: the ${what} is queued`, busy: true };
  if (draft.phase === "typing") return { ...out, line: "edited", busy: running };
  if (running) {
    const counted = job.total > 0 ? ` ${job.done} of ${job.total}` : "";
    const line = `${own ? "scoring" : `scoring ${isolated(job.teacher ?? "another")}`}${counted} · ${seconds(job.seconds)}`;
    return { ...out, line, busy: true, share: job.total > 0 ? job.done / job.total : null };
  }
  if (draft.phase === "sent") return { ...out, line: "sent", busy: true };
  if (draft.error !== null) return { ...out, line: `not scored: ${BEFORE}` };
  if (own && (job.state === "failed" || job.state === "cancelled")) return { ...out, ...ended(job) };
  if (own && job.state === "done" && draft.text === null)
    return { ...out, line: `rescored in ${seconds(job.seconds)}` };
  return draft.text === null ? out : { ...out, line: "edited" };
}
