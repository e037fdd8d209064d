/** The statuses without a body. The platform throws for a `Response` with both. */
export const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
