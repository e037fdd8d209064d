// The bounds of integers that have none of their own.

/** The integers that a number holds exactly. */
export const SAFE = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** An integer in the document. */
export const INT64 = { type: "integer", ...SAFE, format: "int64" } as const;
