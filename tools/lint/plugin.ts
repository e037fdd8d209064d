// The lint plugin: this repository's own rules, by their names.

import { noConsole } from "./console.ts";
import { errorMessage } from "./error_message.ts";
import { importDirection, packagePlace } from "./layers.ts";

const plugin: Deno.lint.Plugin = {
  name: "webfw",
  rules: {
    "error-message": errorMessage,
    "import-direction": importDirection,
    "no-console": noConsole,
    "package-place": packagePlace,
  },
};

export default plugin;
