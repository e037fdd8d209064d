/**
 * How long a test waits for what should come at once, in milliseconds: longer than the slowest
 * machine takes. It only bounds a test that fails.
 */
export const PATIENCE_MS = 180_000;
