/** The smallest model a widget can live on: it holds traits and tells of changes. Nothing is saved or sent. */

type Listener = (...args: unknown[]) => void;

export interface StaticModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  on(event: string, listener: Listener): void;
  off(event?: string | null, listener?: Listener | null): void;
  save_changes(): void;
  send(): void;
}

export function staticModel(state: Record<string, unknown>): StaticModel {
  const values = { ...state };
  const listeners = new Map<string, Set<Listener>>();
  return {
    get: (name) => values[name],
    set(name, value) {
      if (values[name] === value) return;
      values[name] = value;
      for (const listener of [...(listeners.get(`change:${name}`) ?? [])]) listener();
    },
    on(event, listener) {
      const known = listeners.get(event) ?? new Set();
      listeners.set(event, known.add(listener));
    },
    off(event, listener) {
      if (!event) listeners.clear();
      else if (listener) listeners.get(event)?.delete(listener);
      else listeners.delete(event);
    },
    save_changes() {},
    send() {},
  };
}

/** A loop, not `Uint8Array.from`: that takes seconds for what a large page holds. */
function bytes(packed: string): DataView {
  const text = atob(packed);
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return new DataView(found.buffer);
}

/** Replaces every {"$buffer": base64} by a DataView, at any depth. */
export function revive(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== "object" || value === null) return value;
  const packed = (value as { $buffer?: unknown }).$buffer;
  if (typeof packed === "string") return bytes(packed);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item)]));
}
