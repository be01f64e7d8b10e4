/** What is computed from a whole rollout is computed once for each data set: a new one (edited contexts, other scores) starts afresh. */

/** Kept for each purpose; beyond it, what was not asked for longest is forgotten. */
const MOST = 512;

const caches = new WeakMap<object, Map<string, Map<string, unknown>>>();

function cacheOf(data: object, purpose: string): Map<string, unknown> {
  const purposes = caches.get(data) ?? new Map<string, Map<string, unknown>>();
  caches.set(data, purposes);
  const cache = purposes.get(purpose) ?? new Map<string, unknown>();
  purposes.set(purpose, cache);
  return cache;
}

/** `make()`, or what it gave before for the same purpose and parts. */
export function kept<T>(data: object, purpose: string, parts: readonly (string | number)[], make: () => T): T {
  const cache = cacheOf(data, purpose);
  const key = parts.join("\u0000");
  const made = cache.has(key) ? (cache.get(key) as T) : make();
  cache.delete(key);
  cache.set(key, made);
  if (cache.size > MOST) cache.delete(cache.keys().next().value as string);
  return made;
}
