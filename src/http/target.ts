/** Finds the parts of a request's target in the text of its URL, which is never parsed for it. */

/** Where the path starts: at the first slash after the authority. Below 0 where there is none. */
export function pathStart(url: string): number {
  return url.indexOf("/", authorityStart(url));
}

/** Where the path ends. Below its start where a query or fragment comes before it: a server may be sent a target without a path. */
export function pathEnd(url: string, start: number): number {
  const authority = authorityStart(url);
  const query = url.indexOf("?", authority);
  const hash = url.indexOf("#", authority);
  const end = query < 0 ? url.length : query;
  return start < 0 ? -1 : hash >= 0 && hash < end ? hash : end;
}

/** The query, without the question mark, of a URL whose path ends there. */
export function queryText(url: string, pathEnd: number): string {
  if (url.charCodeAt(pathEnd) !== 63 /* ? */) return "";
  const hash = url.indexOf("#", pathEnd);
  return hash < 0 ? url.slice(pathEnd + 1) : url.slice(pathEnd + 1, hash);
}

function authorityStart(url: string): number {
  const isHttp = url.charCodeAt(4) === 58; // http:
  return isHttp ? 7 : url.indexOf("://") + 3;
}
