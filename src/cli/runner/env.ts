/** Finds settings and permissions. Sent as source: see runner.ts. */

import { Runner, type RunnerOptions } from "./runner.ts";

/** Version 1 of the protocol with the framework. */
export interface Setting {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly description?: string;
  readonly default?: string;
}

/** Prints the declared settings as a line of JSON. */
export class SettingsRunner extends Runner {
  async run(): Promise<void> {
    this.stopWithParent();
    this.keepStdout();
    const declared: Setting[] = [];
    // Now settings() returns placeholders, and does not throw.
    this.command.settings = declared;
    const { loaded, refusal } = await this.importModule();
    this.write(`${JSON.stringify(declared)}\n`);
    // A module that calls run() of its App has been imported up to there.
    if (loaded.status === "rejected" && refusal === undefined) await this.failToLoad(loaded.reason);
    Deno.exit(0);
  }
}

/** Missing in Deno's audit. */
export interface Unaudited {
  readonly urls: readonly string[];
  readonly programs: readonly string[];
  /** Deno KV requires a flag. */
  readonly opensKv: boolean;
  readonly port: string;
}

/** Prints the accesses that are missing in Deno's audit. */
export class PermissionsRunner extends Runner<RunnerOptions> {
  async run(): Promise<void> {
    this.stopWithParent();
    this.keepStdout();
    const urls: string[] = [];
    const programs: string[] = [];
    const { fetch } = globalThis;
    globalThis.fetch = (input, init) => {
      urls.push(input instanceof Request ? input.url : String(input));
      return fetch(input, init);
    };
    Reflect.set(
      Deno,
      "Command",
      class extends Deno.Command {
        constructor(program: string | URL, options?: Deno.CommandOptions) {
          programs.push(String(program));
          super(program, options);
        }
      },
    );
    let opensKv = false;
    const { openKv } = Deno;
    Object.defineProperty(Deno, "openKv", {
      value(path?: string) {
        opensKv = true;
        return openKv(path);
      },
    });
    const app = await this.loadApp();
    const problem = `Cannot start "${this.options.module}"`;
    if (!this.isWebfwApp(app)) return await this.fail(`${problem}: it is no App`);
    const port = Deno.env.get("PORT") || "8000";
    // The log reads it with its first entry.
    Deno.env.get("WEBFW_LOG");
    const stop = new AbortController();
    try {
      // Any free port, because another process may serve the application.
      await app.run({ port: 0, signal: stop.signal, onListen: () => stop.abort() });
    } catch (error) {
      if (error instanceof Error && /^Cannot(?:Open|Start)Error$/.test(error.name)) await this.fail(error.message);
      await this.failWith(problem, error);
    }
    const found: Unaudited = { urls, programs, opensKv, port };
    this.write(`${JSON.stringify(found)}\n`);
    Deno.exit(0);
  }
}
