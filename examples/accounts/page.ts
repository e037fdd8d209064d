/** The pages: files, sent as they are. The first one is for those who have signed in. */
import { file, Router } from "@webfw/core";
import { visit } from "./sign_in.ts";

/** The routes of the pages. */
export const page = new Router({ hidden: true });

page.get("/", { deps: { visit: visit.required({ redirect: "/login" }) } }, async function getPage(request) {
  // The page of before signing out must not come back with the button of the browser.
  request.replyHeaders.set("cache-control", "no-store");
  return await pageFile("index.html");
});
page.get("/login", async function getLoginPage() {
  return await pageFile("login.html");
});
page.get("/page/{name}", async function getPart(_request, { name }) {
  return await file(name, { root: new URL("page/", import.meta.url) });
});

function pageFile(name: string): Promise<File> {
  return file(new URL(`page/${name}`, import.meta.url));
}
