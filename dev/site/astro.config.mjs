// How the pages become a site. `deno task site` writes the pages and calls this.
import { defineConfig } from "astro/config";
import starlight from "@astrojs/starlight";
import core from "../../deno.json" with { type: "json" };
import sidebar from "./sidebar.json" with { type: "json" };

// Where the site is published.
const address = new URL(process.env.SITE_URL ?? "http://localhost:4321");

export default defineConfig({
  site: address.origin,
  base: address.pathname,
  trailingSlash: "always",
  integrations: [
    starlight({
      title: "webfw",
      description: "A web framework for Deno: one declaration of a route gives everything else.",
      // A block of code that scrolls sideways would need a name of its own for screen readers.
      expressiveCode: { defaultProps: { wrap: true } },
      customCss: ["./src/styles.css"],
      sidebar: [
        ...sidebar,
        {
          label: "Reference",
          items: [
            { label: core.name, items: [{ autogenerate: { directory: "reference/core" } }] },
            ...Object.keys(core.exports).filter((name) => name !== ".").map((name) => `reference/${name.slice(2)}`),
          ],
        },
      ],
    }),
  ],
});
