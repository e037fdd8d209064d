// Keeps the framework from writing past its log.

import { isPublished, repositoryPath } from "./layers.ts";

/** Only the log and the command line write to the console. */
export const noConsole: Deno.lint.Rule = {
  create(context) {
    const self = repositoryPath(context.filename);
    if (!isPublished(self) || /^src\/(?:log\/log\.ts$|cli\/)|^cli\.ts$/.test(self)) {
      return {};
    }
    return {
      MemberExpression(node) {
        if (node.object.type !== "Identifier") return;
        if (node.object.name !== "console") return;
        const message = `${self} must not write to the console`;
        context.report({ node, message, hint: "Use the log" });
      },
    };
  },
};
