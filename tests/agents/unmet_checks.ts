// Checks of the conformance suites that a webfw application cannot pass, each with its reason. One
// that passes has to go.

/** Checks that fail for one reason, each as its scenario and its name. */
export interface UnmetChecks {
  readonly reason: string;
  readonly checks: readonly string[];
}

/** All of them. */
export const UNMET: readonly UnmetChecks[] = [
  {
    reason: "Routes are exposed as tools, and there is nothing else: no prompts, no resources, no completion",
    checks: [
      "caching sep-2549-prompts-list-caching-hints",
      "caching sep-2549-resources-list-caching-hints",
      "caching sep-2549-resources-read-caching-hints",
      "caching sep-2549-resources-templates-list-caching-hints",
      "completion-complete completion-complete",
      "input-required-result-non-tool-request sep-2322-non-tool-incomplete",
      "prompts-get-embedded-resource prompts-get-embedded-resource",
      "prompts-get-simple prompts-get-simple",
      "prompts-get-with-args prompts-get-with-args",
      "prompts-get-with-image prompts-get-with-image",
      "prompts-list prompts-list",
      "resources-list resources-list",
      "resources-read-binary resources-read-binary",
      "resources-read-text resources-read-text",
      "resources-subscribe resources-subscribe",
      "resources-templates-read resources-templates-read",
      "resources-unsubscribe resources-unsubscribe",
      "sep-2164-resource-not-found sep-2164-data-uri",
      "sep-2164-resource-not-found sep-2164-error-code",
    ],
  },
  {
    reason: "A route answers a request once: it tells its caller neither how far it is nor what it logs",
    checks: [
      "logging-set-level logging-set-level",
      "tools-call-with-logging tools-call-with-logging",
      "tools-call-with-progress tools-call-with-progress",
    ],
  },
  {
    reason: "A route has its arguments when it is called: it asks its caller for nothing more",
    checks: [
      "elicitation-sep1034-defaults elicitation-sep1034-general",
      "elicitation-sep1330-enums elicitation-sep1330-general",
      "input-required-result-basic-elicitation sep-2322-elicitation-incomplete",
      "input-required-result-basic-list-roots sep-2322-list-roots-incomplete",
      "input-required-result-basic-sampling sep-2322-sampling-incomplete",
      "input-required-result-capability-check sep-2322-respect-client-capabilities",
      "input-required-result-ignore-extra-params sep-2322-ignore-unexpected-params",
      "input-required-result-missing-input-response sep-2322-missing-response-rerequests",
      "input-required-result-multi-round sep-2322-multi-round-r1",
      "input-required-result-multiple-input-requests sep-2322-multiple-inputs-incomplete",
      "input-required-result-request-state sep-2322-request-state-incomplete",
      "input-required-result-result-type sep-2322-result-type-included",
      "input-required-result-tampered-state sep-2322-reject-tampered-state",
      "server-stateless sep-2575-missing-capability-http-400",
      "server-stateless sep-2575-server-rejects-undeclared-capability",
      "tools-call-elicitation tools-call-elicitation",
      "tools-call-sampling tools-call-sampling",
    ],
  },
  {
    reason: "A reply has one body, so that a result has one block of content",
    checks: ["tools-call-mixed-content tools-call-mixed-content"],
  },
  {
    reason: "The tools of an application never change while it serves: there is nothing to notify anyone of",
    checks: [
      "server-stateless sep-2575-server-sends-prompts-list-changed-on-subscription",
      "server-stateless sep-2575-server-sends-tools-list-changed-on-subscription",
    ],
  },
  {
    reason: "There are no sessions, which these take for granted",
    checks: [
      "server-sse-multiple-streams server-sse-multiple-streams-session",
      "server-sse-polling server-sse-polling-session",
    ],
  },
  {
    reason: "No schema asks for arguments to be sent as headers, too",
    checks: [
      "http-custom-header-server-validation sep-2243-server-decode-base64",
      "http-custom-header-server-validation sep-2243-server-no-xmcp-tool",
      "http-custom-header-server-validation sep-2243-server-reject-invalid-param-chars",
      "http-custom-header-server-validation sep-2243-server-reject-param-mismatch",
      "http-custom-header-server-validation sep-2243-server-validate-param-match",
    ],
  },
  {
    reason:
      "Schemas are made of valibot's, which have no such keywords; a dialect named in them makes older clients give up",
    checks: [
      "json-schema-2020-12 json-schema-2020-12-$schema",
      "json-schema-2020-12 sep-2106-anchor-keyword-preserved",
      "json-schema-2020-12 sep-2106-composition-keywords-preserved",
      "json-schema-2020-12 sep-2106-conditional-keywords-preserved",
    ],
  },
];
