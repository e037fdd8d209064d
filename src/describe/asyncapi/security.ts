/** The security schemes of the AsyncAPI document, from those of the OpenAPI document. */
import type { OAuth2SecurityScheme, SecurityScheme } from "../../binding/security.ts";
import type { OpenAPIOperation } from "../openapi/document.ts";
import type { AsyncAPIFlow, AsyncAPIOperation, AsyncAPISecurityScheme } from "./document.ts";

/** A scheme in the form of AsyncAPI. `base` is the URL that those of endpoints are relative to. */
export function toAsyncAPIScheme(scheme: SecurityScheme, base: string | undefined): AsyncAPISecurityScheme {
  const described = scheme.description === undefined ? {} : { description: scheme.description };
  switch (scheme.type) {
    case "apiKey":
      return { type: "httpApiKey", in: scheme.in, name: scheme.name, ...described };
    case "mutualTLS":
      return { type: "X509", ...described };
    case "http":
      return scheme;
    case "openIdConnect": {
      const openIdConnectUrl = absolute(scheme.openIdConnectUrl, base);
      return openIdConnectUrl ? { type: "openIdConnect", openIdConnectUrl, ...described } : bearer(scheme);
    }
    case "oauth2": {
      const flows = flowsOf(scheme, base);
      return flows ? { type: "oauth2", flows, ...described } : bearer(scheme);
    }
  }
}

/**
 * The requirements of an operation. AsyncAPI has only alternatives of one scheme each, so others
 * are written as OpenAPI has them, too.
 *
 * @param requirements The requirements as OpenAPI has them.
 * @param schemeOf The scheme of a name.
 */
export function securityOf(
  requirements: NonNullable<OpenAPIOperation["security"]>,
  schemeOf: (name: string) => AsyncAPISecurityScheme,
): Pick<AsyncAPIOperation, "security" | "x-security"> {
  const isExact = requirements.every((requirement) => Object.keys(requirement).length === 1);
  const isOptional = requirements.some((requirement) => Object.keys(requirement).length === 0);
  const required = requirements.flatMap((requirement) => Object.entries(requirement));
  const security = required.map(([name, scopes]) => {
    const scheme = schemeOf(name);
    const takesScopes = scheme.type === "oauth2" || scheme.type === "openIdConnect";
    return takesScopes && scopes.length > 0
      ? { ...scheme, scopes }
      : { $ref: `#/components/securitySchemes/${name.replaceAll("~", "~0").replaceAll("/", "~1")}` };
  });
  return { ...(!isOptional && { security }), ...(!isExact && { "x-security": requirements }) };
}

function flowsOf({ flows }: OAuth2SecurityScheme, base: string | undefined): Record<string, AsyncAPIFlow> | undefined {
  const converted = Object.entries(flows).map(([name, flow]) => {
    const { scopes: availableScopes, ...urls } = flow as { scopes: Record<string, string> } & Record<string, string>;
    const whole = Object.entries(urls).map(([key, url]) => [key, absolute(url, base)] as const);
    const isComplete = whole.every(([, url]) => url !== undefined);
    return [name, isComplete && { ...Object.fromEntries(whole), availableScopes }] as const;
  });
  return converted.every(([, flow]) => flow)
    ? Object.fromEntries(converted) as Record<string, AsyncAPIFlow>
    : undefined;
}

/** AsyncAPI has no relative URLs here. */
function absolute(url: string, base: string | undefined): string | undefined {
  return URL.parse(url, base)?.href;
}

function bearer({ description }: SecurityScheme): AsyncAPISecurityScheme {
  return { type: "http", scheme: "bearer", ...(description !== undefined && { description }) };
}
