import { assertEquals, assertNotMatch } from "@std/assert";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

/** An application that follows the command's protocol and uses no framework. */
const APP = `export const app = {
  [Symbol.for("webfw.app")]: { version: 1 },
  docsUrl: "/docs",
  routes: [
    { method: "GET", path: "/books/{id}", operationId: "getBook", options: {} },
    { method: "DELETE", path: "/books/{id}", operationId: "removeBook", options: {} },
  ],
  async run(options) {
    const stop = Promise.withResolvers();
    Deno.addSignalListener("SIGTERM", stop.resolve);
    console.log(JSON.stringify(options));
    options.onListen({ hostname: "127.0.0.1", port: 4321 });
    await stop.promise;
    Deno.removeSignalListener("SIGTERM", stop.resolve);
    console.log("unwound");
  },
  fetch() { throw new Error("not to be used"); },
};`;

const ARGS = ["run", "main.js:app", "--host", "127.0.0.1", "--port", "0"];

Deno.test("An App runs with its address and the access log, and stops", async () => {
  await using project = await Project.create({ "main.js": APP });
  await using webfw = await Webfw.start(ARGS, { cwd: project.path });
  assertEquals(await webfw.origin(), "http://127.0.0.1:4321");
  const [options] = await webfw.stdout.next(/^{.*}$/);
  assertEquals(JSON.parse(options), {
    hostname: "127.0.0.1",
    port: 0,
    accessLog: true,
  });
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 0);
  await webfw.stdout.next(/^unwound$/);
});

Deno.test("The documentation is announced where it is served", async () => {
  await using project = await Project.create({ "main.js": APP });
  await using webfw = await Webfw.start(ARGS, { cwd: project.path });
  await webfw.stderr.next(/^\S+ INFO Documentation on http:\/\/127\.0\.0\.1:4321\/docs$/);
  for (const docsUrl of ["null", "undefined"]) {
    await project.write("main.js", APP.replace(`docsUrl: "/docs"`, `docsUrl: ${docsUrl}`));
    await using other = await Webfw.start(ARGS, { cwd: project.path });
    await other.origin();
    other.signal("SIGTERM");
    assertEquals(await other.end(), 0);
    assertNotMatch(other.stderr.text, /Documentation/);
  }
});

Deno.test("With WEBFW_LOG=json, where it listens is said in JSON, too", async () => {
  await using project = await Project.create({ "main.js": APP });
  await using webfw = await Webfw.start(ARGS, { cwd: project.path, env: { WEBFW_LOG: "json" } });
  for (const message of ["Listening on http://127.0.0.1:4321", "Documentation on http://127.0.0.1:4321/docs"]) {
    const [line] = await webfw.stderr.next(/^{.*}$/);
    const { time, ...entry } = JSON.parse(line);
    assertEquals(entry, { level: "info", message });
    assertEquals(new Date(time).toISOString(), time);
  }
});

Deno.test("An error of the application at its start or stop is shown with its stack, and the exit code is 1", async () => {
  for (const place of ["options.onListen", 'console.log("unwound")']) {
    await using project = await Project.create({
      "main.js": APP.replace(place, `throw new Error("no database"); ${place}`),
    });
    await using webfw = await Webfw.start(ARGS, { cwd: project.path });
    if (place.startsWith("console")) {
      await webfw.origin();
      webfw.signal("SIGTERM");
    }
    assertEquals(await webfw.end(), 1);
    await webfw.stderr.next(/^error: "main\.js" failed$/);
    await webfw.stderr.next(/^Error: no database$/);
    await webfw.stderr.next(/^ +at .*main\.js:\d+/);
    assertNotMatch(webfw.stderr.text, /data:text/);
  }
});

Deno.test("webfw routes prints the table in its order, aligned, and runs nothing", async () => {
  await using project = await Project.create({
    "main.js": `setInterval(() => {}, 1_000); ${APP}`,
  });
  const { code, stdout, stderr } = await Webfw.finish(["routes", "main.js:app"], { cwd: project.path });
  assertEquals(stderr, "");
  assertEquals(
    stdout.split("\n"),
    [
      "METHOD  PATH         OPERATION",
      "GET     /books/{id}  getBook",
      "DELETE  /books/{id}  removeBook",
      "",
    ].slice(0, -1),
  );
  assertEquals(code, 0);
});

Deno.test("webfw routes refuses an application without a table, and a module that cannot be loaded", async () => {
  await using project = await Project.create({
    "main.ts": `export const app = { fetch() {}, routes: [] };`,
    "broken.ts": "export const app = ;",
  });
  const cwd = project.path;
  assertEquals(await Webfw.finish(["routes", "main.ts"], { cwd }), {
    code: 1,
    stdout: "",
    stderr: `error: Cannot list the routes of "main.ts": it is no App`,
  });
  assertEquals((await Webfw.finish(["routes", "broken.ts"], { cwd })).code, 1);
  assertEquals((await Webfw.finish(["routes", "main.ts:api"], { cwd })).code, 1);
});
