// The lint plugin: this repository's own rules, by their names.

import { noConsole } from "./console.ts";
import { errorMessage } from "./error_message.ts";
import { lateImport } from "./late_import.ts";
import { importDirection, packagePlace } from "./layers.ts";

const plugin: Deno.lint.Plugin = {
  name: "webfw",
  rules: {
    "error-message": errorMessage,
    "import-direction": importDirection,
    "late-import": lateImport,
    "no-console": noConsole,
    "package-place": packagePlace,
  },
};

export default plugin;
