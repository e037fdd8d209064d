/** The client of `npm:@deno/kv`, loaded when it is needed: for files, where Deno has not been told to bring its own. */

// Not a literal: Deno would download a literal's package, of 12 MB, with every application.
const PACKAGE: string = "npm:@deno/kv@^0.14.0";

/** Stands for the version of a write at the end of a key. It never gets to the database; nobody can know it, and name an id so. */
const VERSION_HERE: string = crypto.randomUUID();
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

/** The package could not be loaded. */
export class ClientMissingError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "ClientMissingError";
}

/**
 * Opens a file.
 *
 * @param path The path of the file, or `:memory:`.
 * @throws {ClientMissingError} When the package cannot be loaded.
 */
export async function openNpmFile(path: string): Promise<Deno.Kv> {
  try {
    return withCommitVersion(await open(path, { implementation: "sqlite" }));
  } catch (cause) {
    // The package is there, but not its addon for this machine.
    const isMissing = cause instanceof Error && cause.message.startsWith("No default napi interface");
    throw isMissing ? new ClientMissingError("Cannot load the addon of npm's client of Deno KV", { cause }) : cause;
  }
}

async function open(place: string, options: object): Promise<NpmKv> {
  let openKv: (place: string, options: object) => Promise<NpmKv>;
  try {
    // deno-lint-ignore webfw/import-direction -- see PACKAGE
    ({ openKv } = await import(PACKAGE));
  } catch (cause) {
    throw new ClientMissingError("Cannot load npm's client of Deno KV", { cause });
  }
  return await openKv(place, options);
}

/** The package has no `commitVersionstamp()`, but databases know the operation: it is put into the message of the write. */
function withCommitVersion(kv: NpmKv): Deno.Kv {
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
