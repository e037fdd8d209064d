// How the tools find out whether JSR can be used.

import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { canReachJsr } from "../../dev/tools/jsr_reach.ts";

const PACKAGES = ["@std/assert", "@std/http"];

/** A local registry that counts its requests. */
async function withRegistry(
  answer: (path: string) => Response,
  test: (registry: string, asked: string[], folder: string) => Promise<void>,
): Promise<void> {
  const asked: string[] = [];
  const folder = await Deno.makeTempDir();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      const { pathname } = new URL(request.url);
      asked.push(`${request.method} ${pathname}`);
      return answer(pathname);
    },
  );
  try {
    const { port } = server.addr;
    await test(`http://127.0.0.1:${port}`, asked, folder);
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("JSR is used where it answers for each package", async () => {
  await withRegistry(() => new Response(), async (registry, asked, folder) => {
    const options = {
      packages: PACKAGES,
      registry,
      memory: join(folder, "memory"),
      remoteCache: folder,
    };
    assertEquals(await canReachJsr(options), true);
    assertEquals(asked.toSorted(), [
      "HEAD /@std/assert/meta.json",
      "HEAD /@std/http/meta.json",
    ]);
  });
});

Deno.test("a package that JSR does not have means that JSR is not used", async () => {
  const answer = (path: string) => new Response(null, { status: path.includes("http") ? 404 : 200 });
  await withRegistry(answer, async (registry, _asked, folder) => {
    const options = {
      packages: PACKAGES,
      registry,
      memory: join(folder, "memory"),
      remoteCache: folder,
    };
    assertEquals(await canReachJsr(options), false);
  });
});

Deno.test("a failed probe is believed for a while, and then made again", async () => {
  let status = 503;
  await withRegistry(
    () => new Response(null, { status }),
    async (registry, asked, folder) => {
      const memory = join(folder, "memory");
      const options = {
        packages: PACKAGES,
        registry,
        memory,
        remoteCache: folder,
      };
      assertEquals(await canReachJsr(options), false);
      status = 200;
      assertEquals(await canReachJsr(options), false);
      assertEquals(asked.length, PACKAGES.length);

      const anHourAgo = new Date(Date.now() - 3_600_000);
      for await (const { name } of Deno.readDir(memory)) {
        await Deno.utime(join(memory, name), anHourAgo, anHourAgo);
      }
      assertEquals(await canReachJsr(options), true);
      assertEquals(asked.length, 2 * PACKAGES.length);
    },
  );
});

Deno.test("the failure of one registry says nothing of another", async () => {
  await withRegistry(
    () => new Response(null, { status: 503 }),
    async (broken, _asked, folder) => {
      await withRegistry(() => new Response(), async (sound) => {
        const options = {
          packages: PACKAGES,
          memory: join(folder, "memory"),
          remoteCache: folder,
        };
        assertEquals(
          await canReachJsr({ ...options, registry: broken }),
          false,
        );
        assertEquals(await canReachJsr({ ...options, registry: sound }), true);
      });
    },
  );
});

/** Answers for a registry whose packages have one version with one module. */
function packageFile(path: string): Response {
  if (path.endsWith("/meta.json")) {
    return Response.json({ latest: "1.0.0", versions: { "1.0.0": {} } });
  }
  if (path.endsWith("_meta.json")) {
    return Response.json({ exports: { ".": "./mod.ts" }, manifest: {} });
  }
  return new Response(null, { status: 404 });
}

Deno.test("cached packages need no probe, if all of them are cached", async () => {
  let broken = false;
  const answer = (path: string) => broken ? new Response(null, { status: 503 }) : packageFile(path);
  await withRegistry(answer, async (registry, asked, folder) => {
    async function download(name: string) {
      await new Deno.Command(Deno.execPath(), {
        args: ["cache", "--no-config", "--no-lock", `jsr:${name}`],
        env: { DENO_DIR: folder, JSR_URL: registry },
        stdout: "null",
        stderr: "null",
      }).output();
      assert(asked.includes(`GET /${name}/meta.json`));
    }
    async function isReached() {
      broken = true;
      const probes = () => asked.filter((entry) => entry.startsWith("HEAD"));
      const before = probes().length;
      const reached = await canReachJsr({
        packages: PACKAGES,
        registry,
        memory: await Deno.makeTempDir({ dir: folder }),
        remoteCache: join(folder, "remote"),
      });
      broken = false;
      return { reached, probes: probes().length - before };
    }

    await download("@std/assert");
    assertEquals(await isReached(), {
      reached: false,
      probes: PACKAGES.length,
    });
    await download("@std/http");
    assertEquals(await isReached(), { reached: true, probes: 0 });
  });
});
