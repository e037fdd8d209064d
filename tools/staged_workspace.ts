// Copies the repository to a temporary folder in which the offline configuration is named deno.json.

import { dirname, join } from "node:path";
import { offlineConfig } from "./offline_config.ts";

/** Copies every file that git does not ignore, and gives the folder. The caller removes it. */
export async function stageWorkspace(root: string): Promise<string> {
  const list = new Deno.Command("git", {
    args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd: root,
  });
  const { success, stdout, stderr } = await list.output();
  if (!success) {
    throw new Error(
      `Cannot list the repository: ${new TextDecoder().decode(stderr).trim()}`,
    );
  }
  const stage = await Deno.makeTempDir({ prefix: "webfw_publish_" });
  for (const file of new TextDecoder().decode(stdout).split("\0")) {
    if (file === "") continue;
    const copy = join(stage, file);
    await Deno.mkdir(dirname(copy), { recursive: true });
    await Deno.copyFile(join(root, file), copy);
  }
  await Deno.writeTextFile(
    join(stage, "deno.json"),
    JSON.stringify(await offlineConfig(root), null, 2),
  );
  return stage;
}
