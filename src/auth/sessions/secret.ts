/** The secrets that seal sessions. */

/** A secret, or several, of which the first seals and all open. */
export type Secrets = string | readonly string[];

const MIN_LENGTH = 32;

const CURE = `set it to at least ${MIN_LENGTH} random characters, such as the output of "openssl rand -base64 32"`;

/**
 * Checks secrets. No message has any of their text.
 *
 * @param given What the application gave.
 * @param subject What has them, for messages: `the session "session"`.
 * @throws {TypeError} If there is none, or one is too short.
 */
export function readSecrets(given: unknown, subject: string, action: string): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (secrets.length === 0 || secrets.some((secret) => secret === undefined || secret === null || secret === "")) {
    throw new TypeError(`Cannot ${action}: the secret of ${subject} is missing, ${CURE}`);
  }
  for (const secret of secrets) {
    if (typeof secret !== "string") {
      throw new TypeError(
        `Cannot ${action}: the secret of ${subject} must be a text or a list of texts, got ${typeof secret}`,
      );
    }
    if (secret.length < MIN_LENGTH) {
      throw new TypeError(
        `Cannot ${action}: the secret of ${subject} has ${secret.length} characters, ${CURE}`,
      );
    }
  }
  return secrets as readonly string[];
}
