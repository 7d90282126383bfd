package describe

import (
	"fmt"
	"strings"

	"warranty.example/svc/warranty"
)

// tagTexts describes each group of operations. A group is the part of an operation's
// name before the dot.
var tagTexts = map[string]string{
	"warranties": "Warranty records. You see those that you own, sold or issued.",
	"claims":     "Claims on your warranties. Users file and decide claims; tokens can only read them.",
	"documents": "Documents of your warranties. Users upload, download and delete files; tokens can only read metadata. " +
		"Responses never contain URLs of files.",
	"transfers":      "Transfers of a warranty to a new owner, who accepts with a one-time code.",
	"organizations":  "Organizations: accounts with members. Managing them requires a session.",
	"members":        "Members of an organization. At least one is an admin.",
	"invitations":    "Invitations to an organization, by emailed codes.",
	"addresses":      "Verified email addresses of an organization. An address belongs to one account.",
	"confirmations":  "Warranties that name you as the seller and wait for your confirmation.",
	"sellers":        "Leaving a warranty that you confirmed as its seller.",
	"security":       "Two-step sign-in: what you have, and the switch.",
	"totp":           "Your authenticator app.",
	"recovery_codes": "Codes that complete a sign-in when the app or the passkey is lost. Each works once.",
	"passkeys":       "Your passkeys. You add and use them in the browser.",
	"sessions":       "Where you are signed in: your sessions, which you can end.",
	"trash":          "Warranties that you deleted in the last 30 days. You can restore them.",
	"handovers":      "Handing a warranty over from its issuer to a customer, who takes it with a one-time code.",
	"printed_codes":  "Codes that an organization printed for customers, and that nobody has used yet. They require a session.",
	"brand":          "How an organization with a verified domain looks on its public pages and papers, and the name and the color of its emails.",
	"domains":        "Domains of an organization. A verified one tells customers who stands behind a record.",
	"reminders":      "When an account is emailed about the end of warranties. They require a session.",
	"replies":        "Saved replies: texts that an account uses again in messages about claims. They require a session.",
	"customers": "Customers of an organization: whom it issued to, and whose claims it decides. A customer never sees that " +
		"they are listed. People have none.",
	"bulk":         "Actions on many claims, which can be undone for 10 minutes. They require a session.",
	"products":     "Products of an organization: templates for the warranties that it issues. They require a session.",
	"account":      "Your account: your name and email notifications.",
	"auth":         "Accounts, sessions and credentials.",
	"tokens":       "Integration tokens. Managing them requires a session: tokens cannot manage tokens.",
	"verification": "Public verification of a reference number.",
	"service":      "The service itself.",
}

// about returns the description at the top of the document.
func about(publicURL string) string {
	var codes strings.Builder
	for _, c := range warranty.Codes() {
		fmt.Fprintf(&codes, "| %d | `%s` | %s |\n", c.Status, c.Code, c.Fix)
	}
	return strings.NewReplacer(
		"{rate}", fmt.Sprint(warranty.DefaultTokenRate),
		"{tokens}", fmt.Sprint(warranty.MaxActiveTokens),
		"{hours}", fmt.Sprint(warranty.SessionLifetime.Hours()),
		"{limit}", fmt.Sprint(warranty.DefaultLimit),
		"{most}", fmt.Sprint(warranty.MaxLimit),
		"{file}", fmt.Sprint(warranty.MaxFileSize>>20),
		"{codes}", strings.TrimSuffix(codes.String(), "\n"),
		"{url}", publicURL,
		"'", "`",
	).Replace(aboutText)
}

// aboutText is Markdown with ' in place of the backquote, which a raw string cannot
// contain.
const aboutText = `Warranty records, claims and document metadata for systems and agents.

## Authentication

Send an **integration token** in the 'x-api-key' header. Signed-in users create tokens with the scopes they need. The
secret is shown only once. An account can have at most {tokens} active tokens. A **session** is sent as 'Authorization:
Bearer', has every scope and lasts {hours} hours. Tokens are also accepted as Bearer. Send only one credential.
Credentials in the URL are never read, and cookies are ignored under '/api/'.

| scope | allows |
|---|---|
| 'warranties:read' | list, get and verify warranties |
| 'warranties:write' | create, update and delete warranties |
| 'claims:read' | list and get claims |
| 'documents:read' | list and get document metadata |

## Accounts

An account is a person's own, or an **organization** with members. Records, tokens, storage and limits belong to
accounts. A session acts for its person, or for an organization when the request has its ID in the 'X-Account' header.
If the person is not a member, the response is 403 'account_not_allowed'. A token acts for the account it was made in.
Admins manage tokens, members and the profile; members also change records; viewers only read.

## Conventions

Requests and responses are JSON in UTF-8 with snake_case names. Send 'Content-Type: application/json' and at most 1
MiB. Uploads are 'multipart/form-data' with a file of at most {file} MiB. Dates are 'YYYY-MM-DD', times are RFC 3339
in UTC, IDs are UUIDs. A single record is '{"data": {…}}'. A list is '{"data": […], "pagination": {…}}' with a 'Link'
header. 'page' starts at 1; 'limit' defaults to {limit} and is at most {most}. Missing values are 'null'. Lists are
never 'null'. PUT changes only the fields that you send. Unknown fields and parameters are rejected by name. HEAD
works wherever GET does. Warranties have an 'ETag'. Send it as 'If-Match' to update or delete a warranty only if it
has not changed.

## Rate limits

Each token has its own limit, {rate} requests per minute by default. Each user has a limit of {rate} in each account that
they act for, and each IP
address has a limit too. Windows are fixed and last 60 seconds, so up to twice the limit can pass across the boundary
of two windows. Every request counts, including rejected ones. Every response under '/api/' has the headers
'X-RateLimit-Limit', 'X-RateLimit-Remaining' and 'X-RateLimit-Reset'. Beyond the limit the response is 429 with
'Retry-After'.

## Idempotency

Send a unique 'Idempotency-Key' when you create a warranty, an organization or an invitation. For 24 hours, the same key with the same body returns the
stored response with 'Idempotent-Replayed: true' and does not create a second record. The same key with a different
body is rejected with 'idempotency_key_reused'. Errors are not stored: fix the request and send it again with the same
key.

## Errors

Errors are RFC 9457 problems, 'application/problem+json'. Branch on 'code', which is stable. 'detail' says what is
wrong and how to fix it. 'errors' lists all invalid fields. Include 'request_id' when you contact support. Records
that you cannot access return the same error as records that do not exist. Every code is documented on [the error
page]({url}/docs/errors).

| status | code | what to do |
|---|---|---|
{codes}

## Versioning

The version is in the path: '/api/v1'. Within a version we only add: operations, optional parameters, response fields,
error codes, and values of statuses, types, roles and scopes. Ignore unknown fields, display unknown values as they
are, and treat an unknown code by its HTTP status. Before we remove anything, responses have the headers 'Deprecation'
(deprecated since), 'Sunset' (end date) and 'Link' with 'rel="deprecation"' (what to use instead). Paths outside
'/api/v1' have no version and follow the same rules.`
