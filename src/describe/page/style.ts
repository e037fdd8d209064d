/** What the page adds to Swagger UI's style sheet: a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3), a focus that is seen, and room on a phone. */

/** The style sheet. */
export const STYLE: string = `
body {
  margin: 0;
}

/* Until Swagger UI has come, and where it does not. */
#docs {
  font-family: sans-serif;
}
#docs > :is(h1, p) {
  margin: 1rem;
}

.swagger-ui .info a,
.swagger-ui .info .link .url {
  color: #1a5fb4;
}
.swagger-ui .info .title small,
.swagger-ui .download-contents {
  background: #5c6370;
}
.swagger-ui .info .title small.version-stamp {
  background: #4b6b00;
}
.swagger-ui .btn.authorize {
  border-color: #19713f;
  color: #19713f;
}
.swagger-ui .opblock .opblock-summary-method {
  color: #1b1b1b;
}
.swagger-ui :is(.opblock-head, .opblock-options) .opblock-summary-method {
  color: #fff;
}
.swagger-ui .opblock.opblock-deprecated {
  opacity: 1;
}
.swagger-ui .parameter__in,
.swagger-ui .json-schema-2020-12-expand-deep-button {
  color: #595959;
}
.swagger-ui .parameter__name.required span,
.swagger-ui .parameter__name.required::after {
  color: #b42318;
}
.swagger-ui .response-control-media-type__accept-message,
.swagger-ui .response-control-media-type__accept-message code {
  color: #19713f;
}
.swagger-ui .btn.cancel {
  border-color: #b42318;
  color: #b42318;
}
.swagger-ui .btn.execute {
  background: #1a5fb4;
  border-color: #1a5fb4;
}
.swagger-ui .json-schema-2020-12__constraint--string {
  background: #8a5a00;
}
.swagger-ui .json-schema-2020-12-accordion:focus-visible {
  outline: 2px solid;
}

@media (max-width: 640px) {
  .swagger-ui .opblock .opblock-section-header {
    flex-wrap: wrap;
  }
  .swagger-ui .response-col_links {
    display: none;
  }
}
`;
