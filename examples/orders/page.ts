/** The page: two files, sent as they are, and a script that is bundled when the node starts. */
import { file, Router } from "@webfw/core";
import { state } from "./state.ts";

/** The routes of the page. */
export const page = new Router({ state });

page.get("/", async function getPage(request) {
  "Show the page.";
  // The page may also connect to the other nodes.
  const nodes = request.state.nodes.map(({ url }) => url).join(" ");
  const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; " +
    `connect-src 'self' ${nodes}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
  request.replyHeaders.set("content-security-policy", policy);
  return await pageFile("index.html");
});
page.get("/orders.js", async function getScript(request) {
  "Send the script of the page.";
  return request.state.script;
});
page.get("/orders.css", async function getStyle() {
  "Send the style of the page.";
  return await pageFile("orders.css");
});

function pageFile(name: string): Promise<File> {
  return file(new URL(`page/${name}`, import.meta.url));
}
