// Statements about types: a module that makes a wrong one does not compile.

/** Whether two types are the same, down to `readonly`, `?` and `any`. */
export type IsExact<Actual, Expected> = (<Given>() => Given extends Actual ? 1 : 2) extends
  (<Given>() => Given extends Expected ? 1 : 2) ? true : false;

/**
 * Asserts that a condition on types has the expected value: `assertType<IsExact<typeof id,
 * number>>(true)`.
 */
export function assertType<Condition extends boolean>(_expected: Condition): void {}
