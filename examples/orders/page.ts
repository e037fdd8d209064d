/** The page: three files, sent as they are. */
import { file, Router } from "@webfw/core";
import type { Node } from "./models.ts";

/**
 * The routes of the page.
 *
 * @param nodes The nodes that the page may connect to, besides the one that sends it.
 */
export function page(nodes: readonly Node[]): Router {
  const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; " +
    `connect-src 'self' ${nodes.map(({ url }) => url).join(" ")}; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
  const router = new Router();
  router.get("/", async function getPage(request) {
    "Show the page.";
    request.replyHeaders.set("content-security-policy", policy);
    return await pageFile("index.html");
  });
  router.get("/orders.js", async function getScript() {
    "Send the script of the page.";
    return await pageFile("orders.js");
  });
  router.get("/orders.css", async function getStyle() {
    "Send the style of the page.";
    return await pageFile("orders.css");
  });
  return router;
}

function pageFile(name: string): Promise<File> {
  return file(new URL(`page/${name}`, import.meta.url));
}
