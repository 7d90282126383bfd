package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// The exit codes. "svc help exit-codes" explains them.
const (
	exitOK          = 0
	exitServer      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitCredential  = 4
	exitRateLimited = 5
	exitConflict    = 6
	exitNetwork     = 7
	exitNotInForce  = 10
	exitInterrupted = 130
)

// exitError ends the program with a code; all has been said already.
type exitError int

// Error names the code.
func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a command line that can not be performed.
type usageError struct{ detail, fix string }

// Error says what is wrong with it.
func (e *usageError) Error() string { return e.detail }

func usage(detail, fix string) error { return &usageError{detail, fix} }

// remoteError is what came back from the service, or that nothing did.
type remoteError struct {
	err    error
	answer client.Answer
}

// Error says what failed.
func (e *remoteError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *remoteError) Unwrap() error { return e.err }

// problem is the answer's problem object, if it is one.
func (e *remoteError) problem() (warranty.Problem, bool) {
	var p warranty.Problem
	if e.answer.Status < http.StatusMultipleChoices || api.ReadJSON(e.answer.Body, &p) != nil || p.Code == "" {
		return p, false
	}
	return p, true
}

// refusal finds out what the service refused, if that is what happened.
func refusal(err error) (warranty.Problem, bool) {
	var remote *remoteError
	if errors.As(err, &remote) {
		return remote.problem()
	}
	return warranty.Problem{}, false
}

// report is an error as it is told.
type report struct {
	exit               int
	title, detail, fix string
	ids                []string
	object             []byte // for programs
}

// localProblem is a problem object for what went wrong before the service was
// asked. Codes that are the service's mean what they mean there.
type localProblem struct {
	Type   string                `json:"type"`
	Title  string                `json:"title"`
	Status int                   `json:"status,omitzero"`
	Code   string                `json:"code"`
	Detail string                `json:"detail"`
	Errors []warranty.FieldError `json:"errors,omitempty"`
}

// fail tells of an error and returns the exit code.
func (r *run) fail(ctx context.Context, err error) int {
	r.bar.clear()
	var quiet exitError
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	rep := r.report(ctx, err)
	text := string(plainJSON(rep.object))
	if r.speaksToPeople() {
		s := r.errorStyle()
		text = s.bad("svc: ") + line(rep.title) + " " + line(rep.detail) + "\n     " + s.faint(line(strings.Join(rep.ids, ", "))) + "\n     " + line(rep.fix)
	}
	_, _ = io.WriteString(r.Stderr, r.scrub(text)+"\n") // there is nowhere else to tell it
	return rep.exit
}

// speaksToPeople tells whether errors are three lines or an object.
func (r *run) speaksToPeople() bool {
	switch r.output {
	case "table":
		return true
	case "json", "ndjson":
		return false
	}
	return r.StderrTerminal
}

func (r *run) report(ctx context.Context, err error) report {
	var wrong *usageError
	var refused *warranty.Error
	var remote *remoteError
	switch {
	case ctx.Err() != nil:
		return r.local(exitInterrupted, "interrupted", "Interrupted.", "The command was stopped before it finished.", "Run it again. Requests that were already sent are not undone.")
	case errors.As(err, &wrong):
		return r.local(exitUsage, "usage", "Usage error.", wrong.detail, wrong.fix)
	case errors.As(err, &remote):
		if p, ok := remote.problem(); ok {
			return r.refused(p, remote)
		}
		return r.unreachable(remote)
	case errors.As(err, &refused):
		return r.refusedHere(refused)
	}
	return r.local(exitServer, "failed", "Failed.", sentence(err.Error()), "Fix the problem and run the command again.")
}

// unreachable reports that the service did not answer, or that something else did:
// a proxy in front of it, or another program at its address.
func (r *run) unreachable(e *remoteError) report {
	check := "Check that --base-url or SVC_BASE_URL is the address of the service, ending in " + string(api.V1) + ": " + r.address() + "."
	status := e.answer.Status
	if status == 0 {
		return r.local(exitNetwork, "unreachable", "Service not reached.", sentence(e.Error()), "Check that the service is running. "+check)
	}
	what := fmt.Sprintf("%s answered with %d %s", r.address(), status, http.StatusText(status))
	switch to := e.answer.Header.Get("Location"); {
	case status < http.StatusMultipleChoices:
		return r.local(exitNetwork, "unreachable", "Unexpected response.", what+", but the response cannot be read.",
			check+" Update svc if the service is newer.")
	case status < http.StatusBadRequest && to != "":
		return r.local(exitNetwork, "unreachable", "Unexpected response.", what+", a redirect to "+to+".", check)
	case status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
		return r.local(exitNetwork, "unreachable", "Service unavailable.", what+". The response is from a proxy, not from the service.",
			"The service behind the proxy may be down or restarting: try again in a minute. If it stays like this, tell whoever runs it.")
	}
	return r.local(exitNetwork, "unreachable", "Unexpected response.", what+", which is not a response of this service.", check)
}

// local reports what has no code of the service.
func (r *run) local(exit int, code, title, detail, fix string) report {
	object := encode(localProblem{Type: "about:blank", Title: strings.TrimSuffix(title, "."), Code: code, Detail: detail + " " + fix})
	return report{exit: exit, title: title, detail: detail, fix: fix, object: object, ids: []string{code, fmt.Sprintf("exit code %d", exit)}}
}

// encode writes a problem as JSON. What a file or a command line held may not be
// UTF-8: it is shown with replacement characters, so that the error is always told.
func encode(p localProblem) []byte {
	valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	p.Type, p.Detail = valid(p.Type), valid(p.Detail)
	p.Errors = slices.Clone(p.Errors)
	for i := range p.Errors {
		f := &p.Errors[i]
		f.Field, f.Message = valid(f.Field), valid(f.Message)
	}
	object, err := api.AppendJSON(nil, p)
	if err != nil {
		return []byte(`{"code":"failed"}`)
	}
	return object
}

// refusedHere reports in the service's words what it would have refused.
func (r *run) refusedHere(e *warranty.Error) report {
	info := e.Code.Info()
	detail, fix := e.Message, r.fix(e.Code, e.Fields, 0)
	if info.Status == http.StatusUnauthorized {
		detail += " " + fix // a script's log says what to do, too
	}
	root := strings.TrimSuffix(r.address(), string(api.V1))
	object := encode(localProblem{Type: root + "/docs/errors#" + string(e.Code), Title: info.Title, Status: info.Status,
		Code: string(e.Code), Detail: detail, Errors: e.Fields})
	return report{exit: exitCode(info.Status, e.Code), title: info.Title + ".", detail: e.Message, object: object, fix: fix,
		ids: []string{string(e.Code), "no request was made"}}
}

// refused reports what the service refused, in its own words.
func (r *run) refused(p warranty.Problem, e *remoteError) report {
	var wait time.Duration
	var refused *warranty.Error
	if errors.As(e.err, &refused) {
		wait = refused.Wait
	}
	fix := r.fix(p.Code, p.Errors, wait)
	if !p.Code.Known() && len(p.Errors) == 0 {
		fix = "See " + p.Type + "."
	}
	return report{exit: exitCode(p.Status, p.Code), title: p.Title + ".", detail: p.Detail, object: oneLine(e.answer.Body), fix: fix,
		ids: []string{string(p.Code), fmt.Sprintf("status %d", p.Status), "request_id " + p.RequestID}}
}

// fix says how to fix it, in terms of the command line.
func (r *run) fix(code warranty.Code, fields []warranty.FieldError, wait time.Duration) string {
	var parts []string
	for _, f := range fields {
		parts = append(parts, "--"+api.FlagName(f.Field)+": "+f.Message)
	}
	if len(parts) > 0 {
		return strings.Join(parts, " ")
	}
	switch code {
	case warranty.MissingCredential:
		return "Set SVC_API_KEY to an integration token, or run svc auth login. Generate a token in the settings, under API / CLI / MCP."
	case warranty.InvalidCredential, warranty.TokenExpired, warranty.TokenRevoked, warranty.SessionExpired:
		return code.Info().Fix + " Then set SVC_API_KEY, or run svc auth login."
	case warranty.RateLimited, warranty.IPThrottled:
		if wait > 0 {
			return fmt.Sprintf("Try again in %s, or use --wait %ds.", count(int64(wait.Seconds()), "1 second", "%d seconds"), int(wait.Seconds())+1)
		}
	}
	return code.Info().Fix
}

// exitCode is the exit code for a refusal. The status decides, so that codes that
// this client does not know yet end well too.
func exitCode(status int, code warranty.Code) int {
	switch {
	case code == warranty.IdempotencyKeyReused:
		return exitConflict
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return exitCredential
	case status == http.StatusNotFound || status == http.StatusGone:
		return exitNotFound
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return exitConflict
	case status == http.StatusTooManyRequests:
		return exitRateLimited
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return exitUsage
	}
	return exitServer
}

// note tells a person something beside the data.
func (r *run) note(format string, args ...any) {
	r.bar.clear()
	fmt.Fprintln(r.Stderr, r.scrub(line(fmt.Sprintf(format, args...))))
}

// debugf is note for --debug.
func (r *run) debugf(format string, args ...any) {
	if r.debug {
		r.note("debug: "+format, args...)
	}
}
