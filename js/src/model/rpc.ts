/** Requests to Python: an id, one answer, an error with Python's own class and text, cancel by AbortSignal. */
import type { RpcCancel, RpcRequest, RpcResponse } from "./contract";

export interface Channel {
  send(content: RpcRequest | RpcCancel): void;
  /** Returns the function that ends listening. */
  listen(receive: (content: unknown) => void): () => void;
}

export class RpcError extends Error {
  override name = "RpcError";
  constructor(
    /** Name of the Python exception's class. */
    readonly type: string,
    message: string,
  ) {
    super(message);
  }
}

export interface Rpc {
  request(
    method: RpcRequest["method"],
    params: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>>;
}

interface Pending {
  resolve(result: Record<string, unknown>): void;
  reject(error: unknown): void;
}

const isResponse = (m: unknown): m is RpcResponse =>
  typeof m === "object" &&
  m !== null &&
  (m as RpcResponse).kind === "response" &&
  typeof (m as RpcResponse).id === "string";

export function createRpc(channel: Channel, life: AbortSignal): Rpc {
  const pending = new Map<string, Pending>();
  // Several views share one comm and all hear every answer: the prefix keeps their ids apart.
  const prefix = Math.random().toString(36).slice(2, 10);
  let count = 0;

  const unlisten = channel.listen((message) => {
    if (!isResponse(message)) return;
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (message.ok) waiting?.resolve(message.result);
    else waiting?.reject(new RpcError(message.error.type, message.error.message));
  });
  life.addEventListener(
    "abort",
    () => {
      unlisten();
      for (const { reject } of pending.values()) reject(life.reason);
      pending.clear();
    },
    { once: true },
  );

  return {
    request(method, params, signal) {
      signal.throwIfAborted();
      const id = `${prefix}-${count++}`;
      return new Promise((resolve, reject) => {
        const abandon = (): void => {
          if (!pending.delete(id)) return;
          reject(signal.reason);
          channel.send({ kind: "cancel", id });
        };
        const settled = (): void => signal.removeEventListener("abort", abandon);
        pending.set(id, {
          resolve(result) {
            settled();
            resolve(result);
          },
          reject(error) {
            settled();
            reject(error);
          },
        });
        signal.addEventListener("abort", abandon, { once: true });
        try {
          channel.send({ kind: "request", id, method, params });
        } catch {
          // The comm is closed: the kernel was restarted, or has died.
          pending.delete(id);
          settled();
          reject(new RpcError("Disconnected", "the kernel no longer knows this view: run its cell again"));
        }
      });
    },
  };
}
