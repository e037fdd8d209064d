import { assertEquals } from "@std/assert";
import { toSeriesId, toSeriesPlace } from "../../../src/topics/store.ts";

Deno.test("The id of a message of a series names its place there, and no other text does", () => {
  const series = crypto.randomUUID();
  for (const number of [0, 9, 10, 255, 999_999_999_999]) {
    assertEquals(toSeriesPlace(toSeriesId(series, number)), { series, number });
  }
  const others = ["", ".", ".01", ".-1", ".1.2", ".1 ", ".1000000000000"].map((rest) => series + rest);
  for (const id of [...others, series.toUpperCase() + ".1", "a.1"]) assertEquals(toSeriesPlace(id), undefined, id);
});
