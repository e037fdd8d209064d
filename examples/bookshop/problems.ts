/** The error replies that clients have to expect, for the document. */
import { Problem } from "@webfw/core";
import * as v from "valibot";

export const NoSuchShop = v.pipe(Problem, v.description("There is no such shop."));
export const NoSuchBook = v.pipe(Problem, v.description("There is no such shop, or it has no such book."));
export const NoSuchOrder = v.pipe(Problem, v.description("There is no such shop, or you have no such order in it."));
export const AlreadyThere = v.pipe(Problem, v.description("The shop has this book already."));
export const TooFewCopies = v.pipe(Problem, v.description("The shop has too few copies of a book."));
export const NotAllowed = v.pipe(Problem, v.description("Only clerks of the shop may do this."));
