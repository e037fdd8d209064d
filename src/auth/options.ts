/** The options that all guards of this folder have. */
import type { SecurityRequirement, SecurityScheme } from "../binding/security.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";

/**
 * The options of each guard.
 *
 * @category Dependencies
 */
export interface GuardOptions {
  /**
   * The name of the security scheme in the document. Guards whose schemes differ need different
   * names. By default the name of the function: `bearer`, `basic`, `apiKey`, `jwt`,
   * `session`.
   */
  scheme?: string;
  /** What the credentials are, and how to get them, for the readers of the document. */
  description?: string;
}

const GUARD_OPTIONS: OptionNames<GuardOptions> = { scheme: true, description: true };

/**
 * Checks the options of a guard that all have, and the names of the others.
 *
 * @param action What is being done, for the message: "make a bearer guard".
 * @throws {TypeError} If an option is unknown or of the wrong type.
 */
export function checkGuardOptions<Options extends GuardOptions>(
  options: Options,
  names: OptionNames<Omit<Options, keyof GuardOptions>>,
  action: string,
): void {
  checkOptions(options, { ...names, ...GUARD_OPTIONS } as OptionNames<Options>, action);
  for (const name of ["scheme", "description"] as const) checkText(options[name], name, action);
}

/** A security scheme under the name and with the description that the options of a guard have. */
export function requirementOf(
  name: string,
  scheme: SecurityScheme,
  description: string | undefined,
): SecurityRequirement {
  return { [name]: description === undefined ? scheme : { ...scheme, description } };
}

/** @throws {TypeError} If an option is neither a text nor undefined. */
export function checkText(value: unknown, name: string, action: string): void {
  if (value === undefined || typeof value === "string") return;
  throw new TypeError(`Cannot ${action}: "${name}" must be a text, got ${quote(value)}`);
}

/** @throws {TypeError} If a value is not a function. */
export function checkVerify(verify: unknown, action: string): void {
  if (typeof verify === "function") return;
  throw new TypeError(`Cannot ${action}: the first argument must be an async function, got ${quote(verify)}`);
}
