"""What schemathesis has to know of the framework."""

import schemathesis
from hypothesis import strategies

# By its format alone, an e-mail address may be of a kind that valibot's `email()` refuses.
schemathesis.openapi.format(
    "email", strategies.from_regex(r"\A[a-z0-9]{1,9}@[a-z0-9]{1,9}\.[a-z]{2,9}\Z")
)
