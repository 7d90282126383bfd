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
	"warranty.example/svc/internal/signin"
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

// exitError sets the exit code without printing an error.
type exitError int

// Error returns the code as text.
func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is an error in the command line.
type usageError struct{ detail, fix string }

// Error returns the detail.
func (e *usageError) Error() string { return e.detail }

func usage(detail, fix string) error { return &usageError{detail, fix} }

// remoteError is an error of a request, with the response if there was one.
type remoteError struct {
	err      error
	response client.Response
}

// Error returns the text of the cause.
func (e *remoteError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *remoteError) Unwrap() error { return e.err }

// problem returns the problem object in the response, if any.
func (e *remoteError) problem() (warranty.Problem, bool) {
	var p warranty.Problem
	if e.response.Status < http.StatusMultipleChoices || api.ReadJSON(e.response.Body, &p) != nil || p.Code == "" {
		return p, false
	}
	return p, true
}

// problemIn returns the problem object of the service in err, if any.
func problemIn(err error) (warranty.Problem, bool) {
	var remote *remoteError
	if errors.As(err, &remote) {
		return remote.problem()
	}
	return warranty.Problem{}, false
}

// report is an error in its printed form.
type report struct {
	exit               int
	title, detail, fix string
	ids                []string
	object             []byte // the JSON form
}

// localProblem is a problem object for an error found before a request. Codes of the
// service have the same meaning.
type localProblem struct {
	Type   string                `json:"type"`
	Title  string                `json:"title"`
	Status int                   `json:"status,omitzero"`
	Code   string                `json:"code"`
	Detail string                `json:"detail"`
	Errors []warranty.FieldError `json:"errors,omitempty"`
}

// fail prints an error and returns the exit code.
func (r *run) fail(ctx context.Context, err error) int {
	r.bar.clear()
	var quiet exitError
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	rep := r.report(ctx, err)
	text := string(safeJSON(rep.object))
	if r.errorsAsText() {
		s := r.errorStyle()
		text = s.bad("svc: ") + safeLine(rep.title) + " " + safeLine(rep.detail) +
			"\n     " + s.faint(safeLine(strings.Join(rep.ids, ", "))) +
			"\n     " + safeLine(rep.fix)
	}
	_, _ = io.WriteString(r.Stderr, r.scrub(text)+"\n") // nowhere to report a failure
	return rep.exit
}

// errorsAsText reports whether errors are printed as text instead of JSON.
func (r *run) errorsAsText() bool {
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
	var signedOut *signin.Error
	var noCode *noCodeError
	switch {
	case ctx.Err() != nil:
		return r.localError(exitInterrupted, "interrupted", "Interrupted.", "The command was stopped before it finished.",
			"Run it again. Requests that were already sent are not undone.")
	case errors.As(err, &signedOut):
		return r.localError(exitCredential, "sign_in_failed", "Not signed in.", signedOut.Detail, signedOut.Fix)
	case errors.As(err, &noCode):
		return r.localError(exitConflict, "no_code", "No code.", noCode.Error(), noCode.fix())
	case errors.As(err, &wrong):
		return r.localError(exitUsage, "usage", "Usage error.", wrong.detail, wrong.fix)
	case errors.As(err, &remote):
		if p, ok := remote.problem(); ok {
			return r.refused(p, remote)
		}
		return r.unreachable(remote)
	case errors.As(err, &refused):
		return r.localRefusal(refused)
	}
	if detail, ok := invalidCertificate(err); ok {
		return r.localError(exitServer, "invalid_certificate", "Invalid certificate.", detail,
			"Do not rely on it. Ask the service with svc verify and the reference number.")
	}
	return r.localError(exitServer, "failed", "Failed.", sentence(err.Error()),
		"Fix the problem and run the command again.")
}

// unreachable reports that the service did not respond, or that something else did,
// such as a proxy or another program at its address.
func (r *run) unreachable(e *remoteError) report {
	check := "Check the base URL (--base-url or SVC_BASE_URL), which ends in " + string(api.V1) + ": " + r.address() + "."
	status := e.response.Status
	if status == 0 {
		return r.localError(exitNetwork, "unreachable", "Service unreachable.", sentence(e.Error()),
			"Check that the service is running. "+check)
	}
	unexpected := func(detail, fix string) report {
		return r.localError(exitNetwork, "unreachable", "Unexpected response.", detail, fix)
	}
	what := fmt.Sprintf("%s responded with %d %s", r.address(), status, http.StatusText(status))
	switch to := e.response.Header.Get("Location"); {
	case status < http.StatusMultipleChoices:
		return unexpected(what+", but the response is invalid.", check+" If the service is newer, update svc.")
	case status < http.StatusBadRequest && to != "":
		return unexpected(what+", a redirect to "+to+".", check)
	case status == http.StatusBadGateway,
		status == http.StatusServiceUnavailable,
		status == http.StatusGatewayTimeout:
		return r.localError(exitNetwork, "unreachable", "Service unavailable.",
			what+". The response is from a proxy, not from the service.",
			"The service may be down or restarting. Try again in a minute. If the error persists, contact your administrator.")
	}
	return unexpected(what+", which is not a response of this service.", check)
}

// localError returns the report of an error that has no code of the service.
func (r *run) localError(exit int, code, title, detail, fix string) report {
	return report{
		exit:   exit,
		title:  title,
		detail: detail,
		fix:    fix,
		ids:    []string{code, fmt.Sprintf("exit code %d", exit)},
		object: encode(localProblem{
			Type:   "about:blank",
			Title:  strings.TrimSuffix(title, "."),
			Code:   code,
			Detail: detail + " " + fix,
		}),
	}
}

// encode writes a problem as JSON. Text from files and arguments may be invalid
// UTF-8, which is replaced so that the error can always be printed.
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

// localRefusal returns the report of an input that the service would reject, in the
// same words.
func (r *run) localRefusal(e *warranty.Error) report {
	info := e.Code.Info()
	detail, fix := e.Message, r.fix(e.Code, e.Fields, 0)
	if info.Status == http.StatusUnauthorized {
		detail += " " + fix // so that the logs of scripts include the fix
	}
	root := strings.TrimSuffix(r.address(), string(api.V1))
	return report{
		exit:   exitCode(info.Status, e.Code),
		title:  info.Title + ".",
		detail: e.Message,
		fix:    fix,
		ids:    []string{string(e.Code), "no request sent"},
		object: encode(localProblem{
			Type:   root + "/docs/errors#" + string(e.Code),
			Title:  info.Title,
			Status: info.Status,
			Code:   string(e.Code),
			Detail: detail,
			Errors: e.Fields,
		}),
	}
}

// refused returns the report of an error of the service.
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
	return report{
		exit:   exitCode(p.Status, p.Code),
		title:  p.Title + ".",
		detail: p.Detail,
		fix:    fix,
		ids:    []string{string(p.Code), fmt.Sprintf("status %d", p.Status), "request_id " + p.RequestID},
		object: compactJSON(e.response.Body),
	}
}

// fix returns how to fix an error on the command line.
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
		return "Run svc auth login --web to sign in with your browser, or set SVC_API_KEY to an integration token. " +
			"Generate one in the settings, under API / CLI / MCP."
	case warranty.InvalidCredential, warranty.TokenExpired, warranty.TokenRevoked, warranty.SessionExpired:
		return code.Info().Fix + " Then set SVC_API_KEY, or run svc auth login."
	case warranty.RateLimited, warranty.IPThrottled:
		if wait > 0 {
			seconds := int64(wait.Seconds())
			return fmt.Sprintf("Try again in %s, or use --wait %ds.", count(seconds, "1 second", "%d seconds"), seconds+1)
		}
	}
	return code.Info().Fix
}

// exitCode returns the exit code for an error of the service. It is derived from the
// status, so that codes of newer services work too.
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

// note prints a message to standard error.
func (r *run) note(format string, args ...any) {
	r.bar.clear()
	fmt.Fprintln(r.Stderr, r.scrub(safeLine(fmt.Sprintf(format, args...))))
}

// debugf is note for --debug.
func (r *run) debugf(format string, args ...any) {
	if r.debug {
		r.note("debug: "+format, args...)
	}
}
