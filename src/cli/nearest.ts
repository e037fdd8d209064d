// The known word that a misspelt one was probably meant to be.

/** The candidate with the smallest edit distance to a word; the first of several. */
export function nearest(word: string, candidates: readonly string[]): string {
  return candidates.reduce((best, candidate) => distance(word, candidate) < distance(word, best) ? candidate : best);
}

/** Levenshtein distance: the insertions, deletions and replacements that turn one text into the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [line, letter] of [...from].entries()) {
    const next = [line + 1];
    for (const [column, other] of [...to].entries()) {
      next.push(Math.min(row[column + 1]! + 1, next[column]! + 1, row[column]! + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1)!;
}
