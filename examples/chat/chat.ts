/** Puts the service together. */
import { App } from "@webfw/core";
import { page } from "./page.ts";
import { pictures } from "./pictures.ts";
import { rooms } from "./rooms.ts";

/**
 * Makes the application. Each test makes one, with a new folder.
 *
 * @param folder The folder of the pictures. It is created if it does not exist.
 */
export function chat(folder: string): App {
  const app = new App({ title: "Chat", version: "1.0.0", description: "Rooms to talk in, live, with pictures." });
  app.lifespan(async function* () {
    await Deno.mkdir(folder, { recursive: true });
    yield;
  });
  app.include(page);
  app.include(rooms);
  app.include(pictures(folder));
  return app;
}
