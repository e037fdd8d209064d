/**
 * The client of `npm:@deno/kv`, loaded on first use: for databases on the network, and for files if
 * Deno has no client of its own.
 *
 * It is used by its messages, those of KV Connect
 * (https://github.com/denoland/denokv/blob/main/proto/schema/datapath.proto). Its usual methods
 * have no versionstamped keys, read another entry for each absent key, and count expiry by this
 * machine's clock.
 */
import { load } from "../../base/async_context.ts";
import {
  type DecodedRead,
  decodeRead,
  encodeRead,
  encodeWrite,
  type Mutation,
  type PackedEntry,
  type ReadMessage,
  type ReadRange,
  type WriteMessage,
} from "./kv_messages.ts";
import {
  type KvEngine,
  type KvEntry,
  type KvKey,
  type KvRange,
  type KvWrite,
  toForeignEntryError,
  watchEntries,
} from "./engine.ts";

/**
 * The exact version: the methods for messages are protected in its types. For a literal in
 * `import()`, Deno would download the package with every application.
 */
export const PACKAGE: string = "npm:@deno/kv@0.14.0";

export interface NpmKv {
  snapshotRead(message: ReadMessage): Promise<{
    readonly ranges: readonly { readonly values: readonly PackedEntry[] }[];
  }>;
  atomicWrite(message: WriteMessage): Promise<{ readonly status: string; readonly versionstamp: Uint8Array }>;
  watch(keys: readonly KvKey[], options: { readonly raw: true }): ReadableStream<Deno.KvEntryMaybe<unknown>[]>;
  close(): void;
}

interface NpmNetworkKv extends NpmKv {
  readonly fetcher: Fetcher;
  metadata: unknown;
}

type Fetcher = (address: string, init: RequestInit) => Promise<NetworkReply>;

export interface NetworkReply {
  readonly status: 200;
  readonly url: string;
  readonly headers: { get(name: string): string };
  readonly body?: ReadableStream<Uint8Array>;
  json?(): Promise<unknown>;
  arrayBuffer?(): Promise<ArrayBuffer>;
}

interface NetworkOptions {
  readonly accessToken: string;
  readonly supportedVersions: readonly number[];
  readonly maxRetries: number;
  readonly fetcher: Fetcher;
}

/** The store only has bytes. Without a codec, the package would load a module of Node.js. */
const NO_CODEC = { encodeV8: () => new Uint8Array(), decodeV8: () => undefined };

interface NpmPackage {
  makeNapiBasedService(options: typeof NO_CODEC): { openKv(path: string): Promise<NpmKv> };
  makeRemoteService(
    options: typeof NO_CODEC & NetworkOptions,
  ): { openKv(address: string): Promise<NpmNetworkKv> };
}

export class ClientMissingError extends Error {
  override readonly name = "ClientMissingError";
}

/** @throws {ClientMissingError} If the package or its addon cannot be loaded. */
export async function openNpmFile(path: string): Promise<NpmKv> {
  const { makeNapiBasedService } = await loadPackage();
  try {
    return await makeNapiBasedService(NO_CODEC).openKv(path);
  } catch (cause) {
    const isMissing = cause instanceof Error && cause.message.startsWith("No default napi interface");
    throw isMissing ? new ClientMissingError("Cannot load the addon of npm's client of Deno KV", { cause }) : cause;
  }
}

export async function openNpmNetwork(address: string, options: NetworkOptions): Promise<NpmKv> {
  // Without `implementation`, the package's `openKv()` uses Deno's own client, which takes 40 ms
  // for a write above 1 KB.
  const { makeRemoteService } = await loadPackage();
  return withFastMessages(await makeRemoteService({ ...options, ...NO_CODEC }).openKv(address));
}

const NO_READ: ReadMessage = { ranges: [] };
const NO_WRITE: WriteMessage = { checks: [], mutations: [], enqueues: [] };

type Fetch = (body: Uint8Array<ArrayBuffer>) => Promise<NetworkReply>;

/**
 * The package encodes and decodes empty messages, and checks the status of replies. It sets
 * `metadata` itself.
 */
function withFastMessages(kv: NpmNetworkKv): NpmKv {
  const sending = (action: string, send: (fetch: Fetch) => Promise<NetworkReply>): NpmKv => {
    const fetcher: Fetcher = (address, init) =>
      address.endsWith(action) ? send((body) => kv.fetcher(address, { ...init, body })) : kv.fetcher(address, init);
    const metadata = { get: () => kv.metadata, set: (value: unknown) => kv.metadata = value };
    return Object.create(kv, { fetcher: { value: fetcher }, metadata });
  };
  return {
    snapshotRead: async (message) => {
      let ranges: DecodedRead["ranges"] = [];
      const read = sending("/snapshot_read", async (fetch) => {
        const reply = await fetch(encodeRead(message));
        const decoded = decodeRead(new Uint8Array(await reply.arrayBuffer!()));
        ranges = decoded.ranges;
        return { ...reply, arrayBuffer: () => Promise.resolve(decoded.rest.buffer) };
      });
      await read.snapshotRead(NO_READ);
      return { ranges: ranges.map((values) => ({ values })) };
    },
    atomicWrite: (message) => sending("/atomic_write", (fetch) => fetch(encodeWrite(message))).atomicWrite(NO_WRITE),
    watch: (keys, options) => kv.watch(keys, options),
    close: () => kv.close(),
  };
}

async function loadPackage(): Promise<NpmPackage> {
  try {
    // deno-lint-ignore webfw/import-direction -- see PACKAGE
    return await load(() => import(PACKAGE));
  } catch (cause) {
    throw new ClientMissingError("Cannot load npm's client of Deno KV", { cause });
  }
}

/** Entries expire by `now`. */
export function toNpmEngine(kv: NpmKv, now: () => number = Date.now): KvEngine {
  const read = async (ranges: readonly ReadRange[]): Promise<KvEntry[][]> => {
    const reply = await kv.snapshotRead({ ranges });
    return reply.ranges.map(({ values }) => values.map(unpackEntry));
  };
  return {
    read: (ranges) => read(ranges.map(toReadRange)),
    get: async (keys) => (await read(keys.map(toRange))).map(([entry]) => entry),
    list: async (from, to, limit) => {
      const [entries] = await read([{ start: packKey(from), end: packKey(to), limit }]);
      return entries ?? [];
    },
    write: async (write) => {
      const { status, versionstamp } = await kv.atomicWrite(toWriteMessage(write, now()));
      if (status === "AW_CHECK_FAILURE") return undefined;
      if (status !== "AW_SUCCESS") throw new Error("The database does not write, it may be served elsewhere");
      return versionstamp.toHex();
    },
    // Without `raw`, an error of the stream is an unhandled rejection, which ends the process.
    watch: (keys) => watchEntries(kv.watch(keys, { raw: true })),
    close: () => kv.close(),
  };
}

function toReadRange(range: KvRange): ReadRange {
  if ("key" in range) return toRange(range.key);
  return { start: packKey(range.from), end: packKey(range.to), limit: range.limit };
}

/** The range of one key: the next possible key has a zero byte more. */
function toRange(key: KvKey): ReadRange {
  const start = packKey(key);
  const end = new Uint8Array(start.length + 1);
  end.set(start);
  return { start, end, limit: 1 };
}

function toWriteMessage({ checks = [], sets = [], deletes = [], append }: KvWrite, now: number): WriteMessage {
  const mutations = [
    ...sets.map(({ key, value, expireIn }): Mutation => {
      return {
        ...toMutation("M_SET", key, value),
        expireAtMs: expireIn === undefined ? undefined : `${Math.ceil(now + expireIn)}`,
      };
    }),
    ...deletes.map((key) => toMutation("M_DELETE", key)),
  ];
  if (append) mutations.push(toMutation("M_SET_SUFFIX_VERSIONSTAMPED_KEY", append.prefix, append.value));
  return {
    checks: checks.map(({ key, version }) => {
      return { key: packKey(key), versionstamp: version === null ? undefined : Uint8Array.fromHex(version) };
    }),
    mutations,
    enqueues: [],
  };
}

function toMutation(mutationType: Mutation["mutationType"], key: KvKey, data?: Uint8Array): Mutation {
  return { mutationType, key: packKey(key), value: data && { data, encoding: "VE_BYTES" } };
}

function unpackEntry({ key: packed, value, encoding, versionstamp }: PackedEntry): KvEntry {
  const key = unpackKey(packed);
  if (!key || encoding !== "VE_BYTES") throw toForeignEntryError(key ?? [packed.toHex()]);
  return { key, value, version: versionstamp.toHex() };
}

// Keys are packed in the tuple layer's order: of each part a type mark, the text in UTF-8 with each
// zero byte followed by ff, and a zero byte. See
// https://github.com/apple/foundationdb/blob/main/design/tuple.md

const TEXT_MARK = 0x02;
const END_MARK = 0x00;
const ESCAPE = 0xff;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export function packKey(key: KvKey): Uint8Array {
  const hasZeros = key.some((part) => part.includes("\0"));
  if (!hasZeros) return encoder.encode(key.map((part) => `\x02${part}\0`).join(""));
  return Uint8Array.from(key.flatMap((part) => [TEXT_MARK, ...escapeZeros(encoder.encode(part)), END_MARK]));
}

function escapeZeros(bytes: Uint8Array): Iterable<number> {
  return bytes.includes(0) ? Array.from(bytes).flatMap((byte) => byte === 0 ? [0, ESCAPE] : [byte]) : bytes;
}

/** Undefined if a part of it is no string. */
export function unpackKey(packed: Uint8Array): KvKey | undefined {
  const text = decoder.decode(packed);
  if (!text.startsWith("\x02") || !text.endsWith("\0")) return undefined;
  const parts = text.slice(1, -1).split("\0\x02");
  // The decoder turns the byte ff into U+FFFD. A zero without it ends a part before one of another
  // type.
  if (parts.some((part) => /\0(?!\ufffd)/.test(part))) return undefined;
  return parts.map((part) => part.replaceAll("\0\ufffd", "\0"));
}
