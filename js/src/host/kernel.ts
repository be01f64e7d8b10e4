/**
 * Whether the kernel that a view came from has ended, by the host's own signs. A kernel that was restarted no longer knows its views,
 * so what has ended stays ended; a lost connection is no such sign, it may come back.
 *
 * JupyterLab and Notebook 7 have the session's status and its change of kernels on their widget manager; ipywidgets marks a view
 * whose model has no comm with a class of its own, in every host that uses it. Elsewhere (marimo) there is no sign, and requests that
 * get no answer must do.
 */

interface Emitter<T> {
  connect(slot: (sender: unknown, value: T) => void): boolean;
  disconnect(slot: (sender: unknown, value: T) => void): boolean;
}

type KernelModel = { id?: string } | null | undefined;

interface SessionContext {
  statusChanged: Emitter<string>;
  kernelChanged: Emitter<{ newValue: KernelModel }>;
  session?: { kernel?: KernelModel } | null;
}

export interface Kernel {
  readonly ended: boolean;
}

const ENDED = new Set(["restarting", "autorestarting", "terminating", "dead"]);
const DISCONNECTED = "jupyter-widgets-disconnected";

function sessionOf(manager: unknown): SessionContext | null {
  const context = (manager as { context?: { sessionContext?: Partial<SessionContext> } } | undefined)?.context;
  const session = context?.sessionContext;
  return session?.statusChanged && session.kernelChanged ? (session as SessionContext) : null;
}

/** Calls `changed` once, when the kernel ends. `el` is the element that the host gave. */
export function followKernel(manager: unknown, el: HTMLElement, signal: AbortSignal, changed: () => void): Kernel {
  const life = new AbortController();
  const state = { ended: false };
  const end = (): void => {
    if (state.ended || life.signal.aborted) return;
    state.ended = true;
    life.abort();
    changed();
  };
  signal.addEventListener("abort", () => life.abort(), { signal: life.signal });

  const session = sessionOf(manager);
  if (session) {
    const onStatus = (_: unknown, status: string): void => {
      if (ENDED.has(status)) end();
    };
    let known = session.session?.kernel?.id;
    const onKernel = (_: unknown, { newValue }: { newValue: KernelModel }): void => {
      if (known !== undefined && newValue?.id !== known) end();
      known = newValue?.id;
    };
    session.statusChanged.connect(onStatus);
    session.kernelChanged.connect(onKernel);
    life.signal.addEventListener("abort", () => {
      session.statusChanged.disconnect(onStatus);
      session.kernelChanged.disconnect(onKernel);
    });
  }

  const look = (): void => {
    if (el.classList.contains(DISCONNECTED)) end();
  };
  const Observer = el.ownerDocument.defaultView?.MutationObserver ?? MutationObserver;
  const observer = new Observer(look);
  observer.observe(el, { attributes: true, attributeFilter: ["class"] });
  life.signal.addEventListener("abort", () => observer.disconnect());
  look();
  return state;
}
