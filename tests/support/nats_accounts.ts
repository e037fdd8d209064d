/** What a NATS server needs to let users in by files of credentials. */
import { natsPackage } from "../../src/store/jetstream/nats_client.ts";

/** A pair of keys of NATS. */
interface KeyPair {
  getPublicKey(): string;
  getSeed(): Uint8Array;
  sign(input: Uint8Array): Uint8Array;
}

/** What the package of NATS exports beside what the framework uses. */
interface KeysPackage {
  readonly nkeys: Record<"createOperator" | "createAccount" | "createUser", () => KeyPair>;
}

const encoder = new TextEncoder();
const UNLIMITED = { subs: -1, data: -1, payload: -1, conn: -1, leaf: -1, imports: -1, exports: -1, wildcards: true };

/** What `nsc` makes: an operator with one account, which has one user. */
export interface NatsAccount {
  /** Lines of a server's configuration that let the user in. */
  readonly lines: string;
  /** The text of the file of credentials of the user. */
  readonly credentials: string;
}

/** Makes an account with JetStream, and a user of it. */
export async function makeNatsAccount(): Promise<NatsAccount> {
  const { nkeys } = await natsPackage.use() as unknown as KeysPackage;
  const [operator, user] = [nkeys.createOperator(), nkeys.createUser()];
  // JetStream asks for an account of the server's own beside that of the user.
  const [account, system] = [nkeys.createAccount(), nkeys.createAccount()];
  const limits = { ...UNLIMITED, mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const operatorToken = tokenOf(operator, operator, { type: "operator" });
  const accounts = [
    [account.getPublicKey(), tokenOf(operator, account, { type: "account", limits })],
    [system.getPublicKey(), tokenOf(operator, system, { type: "account", limits: UNLIMITED })],
  ];
  const userToken = tokenOf(account, user, { type: "user", subs: -1, data: -1, payload: -1 });
  return {
    lines: `operator: ${operatorToken}
resolver: MEMORY
system_account: ${system.getPublicKey()}
resolver_preload: { ${accounts.map((each) => each.join(": ")).join(", ")} }`,
    credentials: `-----BEGIN NATS USER JWT-----
${userToken}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${new TextDecoder().decode(user.getSeed())}
------END USER NKEY SEED------
`,
  };
}

/** A token in which one key vouches for another. */
function tokenOf(issuer: KeyPair, subject: KeyPair, nats: object): string {
  const sub = subject.getPublicKey();
  const claims = { jti: crypto.randomUUID(), iat: 1, iss: issuer.getPublicKey(), name: sub, sub };
  const parts = [{ typ: "JWT", alg: "ed25519-nkey" }, { ...claims, nats: { ...nats, version: 2 } }];
  const text = parts.map((part) => toBase64(encoder.encode(JSON.stringify(part)))).join(".");
  return `${text}.${toBase64(issuer.sign(encoder.encode(text)))}`;
}

function toBase64(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}
