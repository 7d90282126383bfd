package describe

import (
	"fmt"
	"strings"

	"warranty.example/svc/warranty"
)

// tagTexts say what the groups of operations are. A group is the part of an
// operation's name before the dot.
var tagTexts = map[string]string{
	"warranties":   "Records of cover. You see those that you own, sold or issued.",
	"claims":       "Claims on your warranties. Signed-in people file and decide them; tokens read them.",
	"documents":    "Documents of your warranties. Tokens read their metadata; signed-in people upload, download and remove the files. No answer holds an address of a file.",
	"transfers":    "Giving a warranty to a new owner. An offer makes a code; whoever is signed in and has it becomes the owner.",
	"account":      "What you keep about yourself: your name, and which mails you get.",
	"auth":         "Accounts, sessions, and who a credential is.",
	"tokens":       "Integration tokens. They need a signed-in session: a token can not manage tokens.",
	"verification": "The public check of a reference number.",
	"service":      "The service itself.",
}

// about is the text at the head of the document: what holds for every operation.
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

// aboutText is Markdown with ' for the backquote, which Go's raw strings can not hold.
const aboutText = `Warranty records, claims and document metadata, for systems and agents.

## Credentials

A system sends an **integration token** in the header 'x-api-key'. A signed-in person generates it, with the scopes it needs, and copies its secret once;
at most {tokens} are active at a time. A signed-in **session** is sent as 'Authorization: Bearer' and has every scope; it lasts {hours} hours.
Tokens are taken as Bearer too. Send one credential only. A credential in an address is never read, and cookies are ignored under '/api/'.

| scope | grants |
|---|---|
| 'warranties:read' | list, get and verify warranties |
| 'warranties:write' | create, update and delete warranties |
| 'claims:read' | list and get claims |
| 'documents:read' | list and get document metadata |

## Conventions

JSON in UTF-8, in snake_case; a body has 'Content-Type: application/json' and at most 1 MiB. Only an upload is 'multipart/form-data', with a file of at most {file} MiB. Days are 'YYYY-MM-DD', instants are RFC 3339 in UTC, ids are UUIDs.
One record is '{"data": {…}}'. A list is '{"data": […], "pagination": {…}}' with a 'Link' header; 'page' starts at 1 and 'limit' is {limit} unless given, at most {most}.
An absent value is 'null', a list is never 'null'. PUT changes the fields that are given and leaves the others.
A field or parameter that an operation does not take is refused by name. HEAD works wherever GET does.
A warranty has an 'ETag'; send it as 'If-Match' to change or delete only what you have read.

## Limits

Each token may make the requests a minute that it was given, {rate} unless chosen otherwise; each signed-in person {rate}; each IP address has a limit of its own.
Windows are fixed and last 60 seconds, so across the edge of two windows up to twice the limit can pass. Every request counts, refused ones too.
Every answer under '/api/' tells the figures in 'X-RateLimit-Limit', 'X-RateLimit-Remaining' and 'X-RateLimit-Reset'. Over the limit the answer is 429 with 'Retry-After'.

## Idempotency

Send a unique 'Idempotency-Key' when you create a warranty. The same key with the same body gives the stored answer again for 24 hours, with
'Idempotent-Replayed: true', and makes no second record. The same key with another body is refused with 'idempotency_key_reused'. Refusals are not kept: mend the request and send it again.

## Errors

Every refusal is an RFC 9457 problem, 'application/problem+json'. Branch on its 'code', which is stable, and show its 'detail', which says how to fix it.
All wrong fields are in 'errors' at once. Quote 'request_id' when you ask for help. What belongs to somebody else looks the same as what does not exist.
Each code has a section on [the page of errors]({url}/docs/errors).

| status | code | what to do |
|---|---|---|
{codes}

## Versions

The version stands in the path: '/api/v1'. Inside it, changes only add: new operations, new optional parameters, new fields in answers, new codes, and new values of statuses, types, roles and scopes. Ignore fields that you do not know, show values that you do not know as they are, and take a code that you do not know by its status.
What is going to be taken away answers with the headers 'Deprecation' (when it became deprecated), 'Sunset' (when it ends) and 'Link' with 'rel="deprecation"' (what to use instead), before it ends.
Paths outside '/api/v1' carry no version and follow the same rule.`
