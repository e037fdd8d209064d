// Accessibility of pages, by axe.

import axe from "npm:axe-core@^4.14.1/axe.min.js" with { type: "text" };
import type { Page } from "npm:playwright-core@^1.65.1";

/**
 * The accessibility faults that axe finds with all its rules.
 *
 * @param hasContrast Whether it measures contrasts, which takes most of its time.
 */
export async function violations(page: Page, hasContrast = true): Promise<string[]> {
  interface Violation {
    id: string;
    nodes: { html: string }[];
  }
  await page.evaluate(axe);
  const found: Violation[] = await page.evaluate(
    `axe.run({ resultTypes: ["violations"], rules: { "color-contrast": { enabled: ${hasContrast} } } })
      .then(({ violations }) => violations)`,
  );
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
