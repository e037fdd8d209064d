// Changes of the document.
import { App } from "@webfw/core";
import { assertEquals } from "@std/assert";

const app = new App({
  title: "Books",
  version: "2.5.0",
  description: "All books of the **shop**",
  document: (document) => {
    document.info["x-logo"] = { url: "/logo.svg" };
    return document;
  },
});
app.get("/books", async () => []);

Deno.test("extending OpenAPI: a function changes the document", () => {
  const { info } = app.openapi();
  assertEquals([info.title, info.version, info["x-logo"]], ["Books", "2.5.0", { url: "/logo.svg" }]);
});
