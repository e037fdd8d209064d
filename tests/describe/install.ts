// `deno task describe:install`: installs the programs of Python and Go that tests/describe tries
// documents with, and the agents of Python in tests/agents. They come from PyPI and from Go
// modules, and are kept for other checkouts, too. It needs python3 of 3.11 or later with venv or
// pip, and go of 1.21 or later, which loads the version that go.mod asks for.

import { join } from "node:path";
import { AGENTS_FOLDER, GO_FOLDER, PYTHON_FOLDER, run, Toolbox } from "./toolbox.ts";

/** Makes a virtual environment with the packages of requirements.txt. */
async function installPython({ folder, bin }: Toolbox, requirements = PYTHON_FOLDER): Promise<void> {
  const packages = ["install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
  const python = join(bin, "python");
  if (await hasEnsurepip()) {
    await run("python3", ["-m", "venv", "--clear", folder], requirements);
    await run(python, ["-m", "pip", ...packages], requirements);
  } else {
    // As Debian's python3 is without python3-venv. Its own pip can serve another environment.
    await run("python3", ["-m", "venv", "--clear", "--without-pip", folder], requirements);
    await run("python3", ["-m", "pip", "--python", python, ...packages], requirements);
  }
}

async function hasEnsurepip(): Promise<boolean> {
  const command = new Deno.Command("python3", { args: ["-c", "import ensurepip"], stdin: "null", stderr: "null" });
  return (await command.output()).success;
}

/** Builds the tool of go.mod, and the packages that generated clients import. */
async function installGo({ bin }: Toolbox): Promise<void> {
  await run("go", ["install", "tool"], GO_FOLDER, { GOBIN: bin });
  await run("go", ["build", "github.com/oapi-codegen/runtime", "github.com/oapi-codegen/runtime/types"], GO_FOLDER);
}

const INSTALLERS = [
  ["Python", await Toolbox.python(), installPython],
  ["Python, for agents", await Toolbox.agents(), (toolbox: Toolbox) => installPython(toolbox, AGENTS_FOLDER)],
  ["Go", await Toolbox.go(), installGo],
] as const;

for (const [language, toolbox, install] of INSTALLERS) {
  if (!await toolbox.isComplete()) {
    await Deno.mkdir(toolbox.folder, { recursive: true });
    await install(toolbox);
    await toolbox.complete();
  }
  console.log(`The programs of ${language} are there: ${toolbox.bin}`);
}
