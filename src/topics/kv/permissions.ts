/**
 * The permissions that a store lacks, all in one message: Deno itself names one at each attempt.
 */

/** A permission that a store needs. */
export type NeededPermission =
  | { readonly name: "read" | "write"; readonly path: string }
  | { readonly name: "net"; readonly host: string }
  | { readonly name: "env"; readonly variable: string };

/**
 * The permissions that are missing. On a terminal Deno asks the user for them, but for variables.
 *
 * @param needed What the store needs.
 */
export async function missingPermissions(needed: readonly NeededPermission[]): Promise<NeededPermission[]> {
  const missing: NeededPermission[] = [];
  // One after another: Deno has one prompt.
  for (const permission of needed) {
    if (await isGranted(permission)) continue;
    const isAsked = permission.name !== "env" && (await Deno.permissions.request(permission)).state === "granted";
    if (!isAsked) missing.push(permission);
  }
  return missing;
}

/** A host as `--allow-net` takes it. */
export function hostOf({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** Whether a permission is there. Nobody is asked for it. */
export async function isGranted(permission: NeededPermission): Promise<boolean> {
  return (await Deno.permissions.query(permission)).state === "granted";
}

/** Says that permissions are missing, and how to give them. */
export function tellMissing(missing: readonly NeededPermission[]): string {
  return `permissions are missing, start Deno with ${missing.map(toFlag).join(" ")}`;
}

/** The flag of Deno that grants a permission. */
export function toFlag(permission: NeededPermission): string {
  switch (permission.name) {
    case "net":
      return `--allow-net=${permission.host}`;
    case "env":
      return `--allow-env=${permission.variable}`;
    default:
      return `--allow-${permission.name}=${quote(permission.path)}`;
  }
}

/** As shells take it: paths may have spaces. */
function quote(path: string): string {
  return /^[\w./:@+~\\-]+$/.test(path) ? path : JSON.stringify(path);
}
