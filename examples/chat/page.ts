/** The page: two files, sent as they are, and a script that is bundled when the application starts. */
import { file, Router } from "@webfw/core";
import { state } from "./state.ts";

/** Only what the page itself contains may load, so that no message can run a script. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The routes of the page. */
export const page = new Router({ state });

page.get("/", async function getPage(request) {
  "Show the page.";
  request.replyHeaders.set("content-security-policy", POLICY);
  return await pageFile("index.html");
});
page.get("/chat.js", async function getScript(request) {
  "Send the script of the page.";
  return request.state.script;
});
page.get("/chat.css", async function getStyle() {
  "Send the style of the page.";
  return await pageFile("chat.css");
});

function pageFile(name: string): Promise<File> {
  return file(new URL(`page/${name}`, import.meta.url));
}
