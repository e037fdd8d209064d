/** Passwords, stored as hashes of scrypt (RFC 7914). */
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** OWASP's parameters for scrypt: a hash takes 32 MiB and about 100 ms. */
const COST = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 ** 2 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Hashes a password with a new salt. */
export async function hashPassword(password: string): Promise<Uint8Array> {
  const salt = randomBytes(SALT_BYTES);
  return Uint8Array.from([...salt, ...await derive(password, salt)]);
}

/** Whether a password has this hash. */
export async function isPassword(password: string, hash: Uint8Array): Promise<boolean> {
  const derived = await derive(password, hash.subarray(0, SALT_BYTES));
  return timingSafeEqual(derived, hash.subarray(SALT_BYTES));
}

function derive(password: string, salt: Uint8Array): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  // Texts that look the same can differ in their code points.
  scrypt(password.normalize(), salt, HASH_BYTES, COST, (error, hash) => error ? reject(error) : resolve(hash));
  return promise;
}
