/** Sessions in a store, behind a random id in the cookie. */
import { nodeCrypto } from "../../base/runtime.ts";
import { fromText, type KeptSession, renewedText, type SessionKeeper } from "./keeper.ts";
import { SessionWatches, type WatchedSessions } from "./session_watches.ts";
import type { SessionStore } from "./store.ts";

const ID_BYTES = 32;
/** That many bytes in base64url. */
const ID = /^[\w-]{43}$/;

/** Keeps sessions in a store. */
export class StoredSessions implements SessionKeeper {
  readonly #store: SessionStore;
  readonly #purpose: string;
  readonly #maxAge: number;
  readonly #watches: SessionWatches;

  /**
   * Keeps sessions in a store.
   *
   * @param store The store.
   * @param purpose What the ids are for: an id for one purpose finds nothing for another.
   * @param maxAge How long a session is good, in milliseconds.
   * @param hint Calls back when the value of a key may have changed, and gives what ends that.
   */
  constructor(store: SessionStore, purpose: string, maxAge: number, hint?: WatchedSessions["hint"]) {
    this.#store = store;
    this.#purpose = purpose;
    this.#maxAge = maxAge;
    this.#watches = new SessionWatches({
      isThere: async (id) => await this.open(id) !== null,
      hint: hint && ((id, onChange) => hint(this.#keyOf(id), onChange)),
    });
  }

  async open(id: string): Promise<KeptSession | null> {
    const text = ID.test(id) ? await this.#store.get(this.#keyOf(id)) : null;
    return text === null ? null : fromText(text, this.#maxAge);
  }

  async keep(text: string): Promise<string> {
    const id = nodeCrypto().randomBytes(ID_BYTES).toString("base64url");
    await this.#store.set(this.#keyOf(id), text, { expiresIn: this.#maxAge, mustExist: false });
    return id;
  }

  /** The id stays the same, so that other requests of the same page keep theirs. */
  async replace(id: string, text: string): Promise<string | undefined> {
    const write = { expiresIn: this.#maxAge, mustExist: true };
    return isDone(await this.#store.set(this.#keyOf(id), text, write)) ? id : undefined;
  }

  async renew(id: string, kept: KeptSession): Promise<string | undefined> {
    // Without `expect`, it would undo a `set` of another request.
    const write = { expiresIn: this.#maxAge, mustExist: true, expect: kept.text };
    return isDone(await this.#store.set(this.#keyOf(id), renewedText(kept), write)) ? id : undefined;
  }

  watch(id: string, _kept: KeptSession, onEnd: () => void): () => void {
    return this.#watches.watch(id, onEnd);
  }

  async drop(id: string): Promise<boolean> {
    const isDropped = ID.test(id) && isDone(await this.#store.delete(this.#keyOf(id)));
    this.#watches.wake(id);
    return isDropped;
  }

  /**
   * Who reads the store cannot make an id of a key. The comparison of a hash tells nothing about
   * the id by its time. Deno writes base64url three times as slowly as hex.
   */
  #keyOf(id: string): string {
    return nodeCrypto().createHash("sha256").update(`${this.#purpose}\0${id}`).digest("hex");
  }
}

/** A store in JavaScript may give nothing: then no session is taken for one that has ended. */
function isDone(result: unknown): boolean {
  return result !== false;
}
