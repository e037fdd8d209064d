/** Puts the service together, and exports the routes that its page calls. */
import { App } from "@webfw/core";
import { bundle } from "../bundle.ts";
import { page } from "./page.ts";
import { pictures } from "./pictures.ts";
import { rooms } from "./rooms.ts";
import { type State, state } from "./state.ts";

export { addPicture } from "./pictures.ts";
export { enterRoom, streamActivity } from "./rooms.ts";

/**
 * Makes the application. Each test makes one, with a new folder.
 *
 * @param folder The folder of the pictures. It is created if it does not exist.
 */
export function chat(folder: string): App<State> {
  const app = new App({
    title: "Chat",
    version: "1.0.0",
    description: "Rooms to talk in, live, with pictures.",
    state,
  });
  app.lifespan(async function* () {
    await Deno.mkdir(folder, { recursive: true });
    yield { folder, script: await bundle(new URL("page/chat.ts", import.meta.url)) };
  });
  app.include(page);
  app.include(rooms);
  app.include(pictures);
  return app;
}
