/**
 * Shows processes that share a file whether one of them has ended: each locks a file of its own,
 * and the system releases the lock, also after `kill -9`.
 */
import { nodePath } from "../base/runtime.ts";
import { isGranted } from "./cannot_open.ts";

const SUFFIX = ".processes";
/** Follows the name of a lock file until it is locked. */
const NEW = ".new";
const NAME = /^[0-9a-f]{8}$/;
/** How long the file of an ended process stays for others to query, in milliseconds. */
const ENDED_AGE = 3_600_000;
/** The content of a file whose process was seen to have ended. */
const ENDED = "ended";

export class ProcessLock {
  readonly #folder: string;
  #lock: Promise<Lock | undefined> | undefined;

  constructor(path: string) {
    this.#folder = path + SUFFIX;
  }

  /**
   * The name of this process. Undefined without the permission for the folder, or without locks.
   */
  async name(): Promise<string | undefined> {
    return (await (this.#lock ??= this.#acquire().catch(() => undefined)))?.name;
  }

  async hasEnded(name: string): Promise<boolean | undefined> {
    if (!NAME.test(name)) return undefined;
    if (name === (await this.#lock)?.name) return false;
    if (!await this.#isAllowed()) return undefined;
    // Without the file, the process may have another view of the folder.
    return await isFree(this.#pathOf(name)).catch(() => undefined);
  }

  async close(): Promise<void> {
    const lock = await this.#lock;
    if (!lock) return;
    await Deno.remove(this.#pathOf(lock.name)).catch(() => {});
    lock.file.close();
  }

  async #acquire(): Promise<Lock | undefined> {
    if (!await this.#isAllowed()) return undefined;
    await Deno.mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#sweep();
    const name = crypto.randomUUID().slice(0, 8);
    const path = this.#pathOf(name);
    const file = await Deno.open(path + NEW, { write: true, createNew: true, mode: 0o600 });
    try {
      if (!await file.tryLock(true)) throw new Error("The file system has no locks");
      // No process sees it before it is locked.
      await Deno.rename(path + NEW, path);
      return { name, file };
    } catch (error) {
      file.close();
      await Deno.remove(path + NEW).catch(() => {});
      throw error;
    }
  }

  /** Removes files of processes that ended long before: since a sweep found them free. */
  async #sweep(): Promise<void> {
    for await (const { name } of Deno.readDir(this.#folder)) {
      const path = this.#pathOf(name);
      const { mtime, size } = await Deno.stat(path).catch(() => ({ mtime: null, size: 0 }));
      if (mtime === null || Date.now() - mtime.getTime() < ENDED_AGE) continue;
      if (!await isFree(path).catch(() => false)) continue;
      const isMarked = size > 0 || !NAME.test(name);
      await (isMarked ? Deno.remove(path) : Deno.writeTextFile(path, ENDED, { create: false })).catch(() => {});
    }
  }

  #pathOf(name: string): string {
    return nodePath().join(this.#folder, name);
  }

  async #isAllowed(): Promise<boolean> {
    const path = this.#folder;
    return await isGranted({ name: "read", path }) && await isGranted({ name: "write", path });
  }
}

interface Lock {
  readonly name: string;
  readonly file: Deno.FsFile;
}

async function isFree(path: string): Promise<boolean> {
  using file = await Deno.open(path, { read: true, write: true });
  return await file.tryLock(true);
}
