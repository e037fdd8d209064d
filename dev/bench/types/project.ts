// A folder in which the TypeScript compiler finds everything that a generated application imports.

import { join } from "node:path";
import { offlineConfig } from "../../tools/offline_config.ts";

const ROOT = join(import.meta.dirname!, "..", "..", "..");
const PEERS = join(ROOT, "dev", "bench", "peers");

/** The compiler options of the repository, and those that module resolution needs. */
const COMPILER_OPTIONS = {
  target: "esnext",
  module: "esnext",
  moduleResolution: "bundler",
  lib: ["esnext"],
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};

/** Types that `deno types` lacks, and modules whose types do not matter. */
const AMBIENT = `
declare module "deno-std/*";
declare module "node:*";
declare module "node:net" {
  export function isIP(text: string): number;
  export class BlockList {
    addAddress(address: string, family?: string): void;
    addSubnet(address: string, prefix: number, family?: string): void;
    check(address: string, family?: string): boolean;
  }
}
declare module "node:buffer" {
  export class Buffer extends Uint8Array {
    static byteLength(text: string): number;
    static from(data: unknown, encoding?: string): Buffer;
    toString(encoding?: string): string;
  }
}
declare module "node:dns/promises" {
  export function lookup(host: string, options: object): Promise<{ address: string }[]>;
}
declare module "node:http" {
  export function request(options: object): { on(event: string, listener: (value: any) => void): any; [member: string]: any };
}
declare module "node:sqlite" {
  export class StatementSync {
    [member: string]: any;
  }
  export class DatabaseSync {
    constructor(path: string, options?: object);
    prepare(text: string): StatementSync;
    [member: string]: any;
  }
}
declare module "node:stream" {
  export const pipeline: any;
  export class Duplex {
    static fromWeb(connection: any): any;
  }
}
declare module "node:worker_threads" {
  export class MessagePort {
    [member: string]: any;
  }
  export class Worker {
    constructor(source: URL, options?: object);
    on(event: string, listener: (value: any) => void): any;
    [member: string]: any;
  }
}
declare module "node:async_hooks" {
  export class AsyncLocalStorage<Store> {
    getStore(): Store | undefined;
    run<Result>(store: Store, run: () => Result): Result;
    static snapshot(): <Args extends unknown[], Result>(run: (...args: Args) => Result, ...args: Args) => Result;
  }
}
declare module "stream" {
  export class Writable {
    write(chunk: unknown, callback?: () => void): boolean;
    end(): this;
    on(event: string, listener: (value: never) => void): this;
  }
  export class Readable implements AsyncIterable<any> {
    destroy(): this;
    on(event: string, listener: (value: never) => void): this;
    [Symbol.asyncIterator](): AsyncIterator<any>;
  }
}
declare module "swagger-ui-dist";
declare function setImmediate(callback: (...args: any[]) => void, ...args: any[]): unknown;
declare function setTimeout(callback: () => void, delay?: number): number;
declare function setInterval(callback: () => void, delay?: number): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
`;

/**
 * Installs the compiler and the other frameworks in a folder, at the versions that bench/peers
 * pins, and the packages that webfw imports.
 *
 * @throws {Error} If a package cannot be installed.
 */
export async function createProject(directory: string): Promise<void> {
  const { imports } = JSON.parse(await offlineConfig(ROOT)) as { imports: Record<string, string> };
  const own = Object.entries(imports).filter(([, target]) => target.startsWith("npm:"));
  const peers = JSON.parse(await Deno.readTextFile(join(PEERS, "deno.json")));
  const config = { ...peers, imports: { ...Object.fromEntries(own), ...peers.imports } };
  await Deno.writeTextFile(join(directory, "deno.json"), JSON.stringify(config));
  await Deno.copyFile(join(PEERS, "deno.lock"), join(directory, "deno.lock"));
  await deno(["install", "--node-modules-dir=auto"], directory);
  await Deno.writeTextFile(
    join(directory, "deno.d.ts"),
    await deno(["types"], directory),
  );
  await Deno.writeTextFile(join(directory, "ambient.d.ts"), AMBIENT);
  const paths = Object.fromEntries(
    Object.entries(imports)
      .filter(([, target]) => target.startsWith("./"))
      .map(([name, target]) => [name, [join(ROOT, target)]]),
  );
  await Deno.writeTextFile(
    join(directory, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        ...COMPILER_OPTIONS,
        paths: {
          ...paths,
          ...Object.fromEntries(own.map(([name]) => [name, [join(directory, "node_modules", name)]])),
        },
      },
      files: ["deno.d.ts", "ambient.d.ts", "app.ts"],
    }),
  );
}

/** The version of the compiler in a project. */
export async function compilerVersion(directory: string): Promise<string> {
  const manifest = join(directory, "node_modules", "typescript", "package.json");
  return JSON.parse(await Deno.readTextFile(manifest)).version;
}

async function deno(args: string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(
    Deno.execPath(),
    { args, cwd },
  ).output();
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout);
  throw new Error(
    `Cannot prepare the type check: deno ${args[0]} failed\n${decoder.decode(stderr)}`,
  );
}
