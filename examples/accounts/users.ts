/** The users, in a SQLite file. */
import { stateType } from "@webfw/core";
import { DatabaseSync } from "node:sqlite";
import type { Account, Login, Registration } from "./models.ts";
import { hashPassword, isPassword } from "./passwords.ts";

interface Row extends Account {
  readonly password: Uint8Array;
}

/** The users, and their passwords. */
export class Users implements Disposable {
  readonly #sqlite: DatabaseSync;
  /** The hash of no password, so that an unknown address takes as long as a wrong password. */
  #nobody: Promise<Uint8Array> | undefined;

  /** Opens the file. A new one gets its table. */
  constructor(file: string) {
    this.#sqlite = new DatabaseSync(file, { timeout: 1000 });
    this.#sqlite.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS users (
        id INTEGER PRIMARY KEY,
        email TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        password BLOB NOT NULL
      ) STRICT`);
  }

  /** Adds a user. Undefined if the address is taken. */
  async add({ email, name, password }: Registration): Promise<Account | undefined> {
    const hash = await hashPassword(password);
    return this.#sqlite
      .prepare("INSERT INTO users (email, name, password) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING *")
      .get(email, name, hash) as Row | undefined;
  }

  /** The user with this address and password, or undefined. */
  async verify({ email, password }: Login): Promise<Account | undefined> {
    const row = this.#sqlite.prepare("SELECT * FROM users WHERE email = ?").get(email) as Row | undefined;
    this.#nobody ??= hashPassword(crypto.randomUUID());
    const isRight = await isPassword(password, row?.password ?? await this.#nobody);
    return isRight ? row : undefined;
  }

  /** The user with a number, or undefined. */
  find(id: number): Account | undefined {
    return this.#sqlite.prepare("SELECT * FROM users WHERE id = ?").get(id) as Row | undefined;
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#sqlite.close();
  }
}

/** The value of the application's lifespan. Requests see it as `state`. */
export interface State {
  readonly users: Users;
}

/** The same as a value, for declarations. */
export const state = stateType<State>();
