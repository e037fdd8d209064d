/** The files of Swagger UI, out of its package. They are read when the page is first shown: an application that never shows it pays nothing. */

/** The version of the package. */
export async function swaggerUIVersion(): Promise<string> {
  const { default: { version } } = await import("swagger-ui-dist/package.json", { with: { type: "json" } });
  return version;
}

/** The script. */
export function readSwaggerUIScript(): Promise<string> {
  return readText(
    () => import("swagger-ui-dist/swagger-ui-bundle.js", { with: { type: "text" } }),
    "swagger-ui-bundle.js",
  );
}

/** The style sheet. */
export function readSwaggerUIStyle(): Promise<string> {
  return readText(() => import("swagger-ui-dist/swagger-ui.css", { with: { type: "text" } }), "swagger-ui.css");
}

/**
 * The text of a file of the package.
 *
 * Deno imports text from 2.8 on, which takes no permission. Older ones refuse it, and read the file where they keep packages.
 *
 * @param load Imports the file as text.
 * @param file Its name.
 * @throws {Error} When it can be neither imported nor read; the cause says why.
 */
export async function readText(load: () => Promise<{ default: string }>, file: string): Promise<string> {
  try {
    return (await load()).default;
  } catch {
    try {
      const { default: packageFolder } = await import("swagger-ui-dist/absolute-path.js");
      return await Deno.readTextFile(`${packageFolder()}/${file}`);
    } catch (cause) {
      throw new Error(`Cannot read ${file} of Swagger UI: Deno ${Deno.version.deno} can neither import nor read it`, {
        cause,
      });
    }
  }
}
