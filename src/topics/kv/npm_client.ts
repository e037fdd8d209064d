/** The client of `npm:@deno/kv`, for where Deno has not been told to bring its own. It is loaded when it is needed. */

// Not a literal: Deno would download a literal's package, of 12 MB, with every application.
const PACKAGE: string = "npm:@deno/kv@^0.14.0";

/** Stands for the version of a write at the end of a key. It never gets to the database. */
const VERSION_HERE = "z".repeat(20);
/** How that text ends a packed key: the mark of a text, the text, the end mark. */
const PACKED_LENGTH = 1 + VERSION_HERE.length + 1;

/** The message of a write, as the package hands it to the database. */
interface WriteMessage {
  readonly mutations: readonly { readonly key: Uint8Array; readonly mutationType: string }[];
}

/** What is used of the package. */
interface NpmKv extends Deno.Kv {
  atomicWrite(message: WriteMessage): Promise<unknown>;
}

/**
 * Opens a file.
 *
 * The package has no `commitVersionstamp()`, but the database below knows the operation: it is put into the message of the write.
 *
 * @param path The path of the file, or `:memory:`.
 */
export async function openNpmKv(path: string): Promise<Deno.Kv> {
  // deno-lint-ignore webfw/import-direction -- see PACKAGE
  const { openKv } = await import(PACKAGE) as { openKv(path: string, options: object): Promise<NpmKv> };
  const kv = await openKv(path, { implementation: "sqlite" });
  const write = kv.atomicWrite.bind(kv);
  return Object.assign(kv, {
    commitVersionstamp: () => VERSION_HERE,
    atomicWrite: (message: WriteMessage) => write({ ...message, mutations: message.mutations.map(withVersion) }),
  }) as unknown as Deno.Kv;
}

function withVersion<Mutation extends WriteMessage["mutations"][number]>(mutation: Mutation): Mutation {
  const { key } = mutation;
  const end = new TextDecoder().decode(key.subarray(1 - PACKED_LENGTH, -1));
  if (end !== VERSION_HERE) return mutation;
  return { ...mutation, key: key.slice(0, -PACKED_LENGTH), mutationType: "M_SET_SUFFIX_VERSIONSTAMPED_KEY" };
}
