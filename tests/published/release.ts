/** Publishes the packages of this repository to a registry for tests, as a release does. */

import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { bundleRelease } from "../../dev/tools/bundle_release.ts";
import { stageWorkspace } from "../../dev/tools/staged_workspace.ts";
import type { Registry } from "./registry.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The environment for Deno with a registry and new caches. */
export function environmentFor(registry: Registry, denoDir: string): Record<string, string> {
  return { JSR_URL: registry.url, DENO_DIR: denoDir, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
}

/** Publishes the core, then the command line, whose dependency it is. */
export async function publishPackages(env: Record<string, string>): Promise<void> {
  // A copy, without the lock file: it names versions of JSR that this registry does not have.
  const stage = await stageWorkspace(ROOT);
  try {
    await Deno.copyFile(join(ROOT, "deno.json"), join(stage, "deno.json"));
    await Deno.remove(join(stage, "deno.lock"));
    await bundleRelease(stage, env);
    await publish(stage, env);
    await publish(join(stage, "packages/cli"), env);
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

/**
 * Publishes the replacements for `@std/*` that are used without JSR: the registry must have all
 * dependencies.
 */
export async function publishStandIns(env: Record<string, string>): Promise<void> {
  const workspace: string[] = [];
  const folder = await Deno.makeTempDir({ prefix: "webfw_std_" });
  try {
    for await (const { name, isDirectory } of Deno.readDir(join(ROOT, "dev", "offline"))) {
      if (!isDirectory) continue;
      workspace.push(`./${name}`);
      await Deno.mkdir(join(folder, name));
      await Deno.copyFile(join(ROOT, "LICENSE"), join(folder, name, "LICENSE"));
      for await (const file of Deno.readDir(join(ROOT, "dev", "offline", name))) {
        await Deno.copyFile(join(ROOT, "dev", "offline", name, file.name), join(folder, name, file.name));
      }
    }
    await Deno.writeTextFile(join(folder, "deno.json"), JSON.stringify({ workspace }));
    await publish(folder, env, ["--allow-slow-types"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function publish(cwd: string, env: Record<string, string>, flags: readonly string[] = []): Promise<void> {
  // `deno task check` has checked the types.
  const args = ["publish", "--token", "any", "--allow-dirty", "--no-provenance", "--no-lock", "--no-check", ...flags];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd, env }).output();
  if (!success) throw new Error(`Cannot publish "${cwd}": ${new TextDecoder().decode(stderr)}`);
}
