// Copies the repository to a folder in which the offline configuration is named deno.json.

import { dirname, join } from "node:path";
import { offlineConfig } from "./offline_config.ts";

/**
 * Copies every file that git does not ignore to a temporary folder, with the
 * offline configuration as its deno.json. The caller removes the folder.
 */
export async function stageWorkspace(root: string): Promise<string> {
  const stage = await Deno.makeTempDir({ prefix: "webfw_stage_" });
  for (const file of await listFiles(root)) {
    const copy = join(stage, file);
    await Deno.mkdir(dirname(copy), { recursive: true });
    await Deno.copyFile(join(root, file), copy);
  }
  await Deno.writeTextFile(
    join(stage, "deno.json"),
    await offlineConfig(root),
  );
  return stage;
}

async function listFiles(root: string): Promise<string[]> {
  const tracked = await git(root, "--cached", "--others", "--exclude-standard");
  const deleted = new Set(await git(root, "--deleted"));
  return tracked.filter((file) => !deleted.has(file));
}

async function git(root: string, ...options: string[]): Promise<string[]> {
  const args = ["ls-files", "-z", ...options];
  const output = await new Deno.Command("git", { args, cwd: root }).output();
  const decoder = new TextDecoder();
  if (!output.success) {
    throw new Error(
      `Cannot list the repository: ${decoder.decode(output.stderr).trim()}`,
    );
  }
  return decoder.decode(output.stdout).split("\0").filter(Boolean);
}
