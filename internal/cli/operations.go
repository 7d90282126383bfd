package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// addOperations adds a command for each operation that an integration token can
// use; a new one of the table appears here by itself.
func (r *run) addOperations(groups map[string]*cobra.Command) {
	for _, op := range api.Operations() {
		if !op.HasCommand() {
			continue // a lookup is what an import is made of
		}
		noun, verb, _ := strings.Cut(op.Name, ".")
		if op.Name == api.VerifyWarranty.Name {
			noun = "" // interface.md writes it "svc verify"
		}
		if groups[noun] == nil {
			groups[noun] = group(noun, "Work with "+noun)
			groups[""].AddCommand(groups[noun])
		}
		groups[noun].AddCommand(r.operationCommand(op, verb))
	}
}

func (r *run) operationCommand(op *api.Spec, verb string) *cobra.Command {
	cmd := &cobra.Command{Use: verb, Short: strings.TrimSuffix(op.Summary, "."), Long: op.Summary, Example: examples[op.Name]}
	var names []string
	for _, p := range op.Params {
		if p.In == api.Path {
			names = append(names, p.Name)
			cmd.Use += " <" + p.Name + ">"
		}
	}
	cmd.Args, cmd.ValidArgsFunction = arguments(names...), cobra.NoFileCompletions
	if op.Scope != "" {
		cmd.Long += "\nThe key needs the scope " + string(op.Scope) + "."
	}
	addParams(cmd, op)
	switch {
	case op.Name == api.VerifyWarranty.Name:
		r.makeVerify(cmd, op)
	case op.Method == http.MethodDelete:
		r.makeDelete(cmd, op)
	default:
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.operate(cmd, op, args) }
	}
	if strings.HasPrefix(op.Path, "/warranties/{id}") {
		cmd.Long += "\nA reference number works in place of the id."
	}
	return cmd
}

var examples = map[string]string{
	"warranties.list":   "  svc warranties list --status active --expiring-within-days 30\n  svc warranties list --query bosch --pretty",
	"warranties.create": "  svc warranties create --product-name 'Kettle' --start-date 2026-03-01 --end-date 2028-02-29",
	"warranties.get":    "  svc warranties get WR-7K2M-9QXT-4D8P-HV3A --pretty",
	"warranties.update": "  svc warranties update WR-7K2M-9QXT-4D8P-HV3A --status void",
	"warranties.delete": "  svc warranties delete 01935b2e-7c4a-7def-8123-456789abcdef --yes",
	"warranties.verify": "  svc verify WR-7K2M-9QXT-4D8P-HV3A && echo in force",
	"claims.list":       "  svc claims list --status submitted",
	"claims.get":        "  svc claims get 01935b2e-7c4a-7def-8123-456789abcdef",
	"documents.list":    "  svc documents list --query invoice",
	"documents.get":     "  svc documents get 01935b2e-7c4a-7def-8123-456789abcdef",
	"auth.status":       "  svc auth status",
}

// operate performs an operation and shows what came back.
func (r *run) operate(cmd *cobra.Command, op *api.Spec, args []string) error {
	if err := r.ensureKey(cmd, op); err != nil {
		return err
	}
	remote, args, err := r.resolve(cmd, op, args)
	if err != nil {
		return err
	}
	in, err := input(cmd, op, args)
	if err != nil {
		return err
	}
	if remote == nil {
		if remote, err = r.connect(false); err != nil {
			return err
		}
	}
	out, answer, err := remote.Do(cmd.Context(), op, in)
	if err != nil {
		return &remoteError{err, answer}
	}
	if again, ok := out.(interface{ Replayed() bool }); ok && again.Replayed() {
		r.note("This idempotency key was used before. This is the record that it created then.")
	}
	return r.show(op, out, answer)
}

// ensureKey gives a create that has no idempotency key one of its own, so that a
// retry after a lost answer makes no second record.
func (r *run) ensureKey(cmd *cobra.Command, op *api.Spec) error {
	flag := cmd.Flags().Lookup("idempotency-key")
	if flag == nil || flag.Changed || op.Method != http.MethodPost {
		return nil
	}
	key := client.NewKey()
	r.debugf("idempotency key %s", key)
	return cmd.Flags().Set("idempotency-key", key)
}

// resolve puts the id of a warranty in place of its reference number. The remote
// is nil when there was no need to ask.
func (r *run) resolve(cmd *cobra.Command, op *api.Spec, args []string) (*client.Client, []string, error) {
	if !strings.HasPrefix(op.Path, "/warranties/{id}") {
		return nil, args, nil
	}
	if _, err := warranty.ParseID(args[0]); err == nil {
		return nil, args, nil
	}
	reference, err := warranty.ParseReference(args[0])
	if err != nil {
		return nil, args, nil //nolint:nilerr // it is neither: the decoder will say so
	}
	// What is wrong with the flags is said before anything is sent.
	if _, err := input(cmd, op, append([]string{warranty.ID{1}.String()}, args[1:]...)); err != nil {
		return nil, nil, err
	}
	remote, err := r.connect(false)
	if err != nil {
		return nil, nil, err
	}
	w, err := byReference(cmd.Context(), remote, reference)
	if err != nil {
		return nil, nil, err
	}
	return remote, append([]string{w.ID.String()}, args[1:]...), nil
}

// byReference finds a warranty by its reference number.
func byReference(ctx context.Context, remote *client.Client, reference warranty.Reference) (*warranty.Warranty, error) {
	in := warranty.ListWarranties{Q: string(reference), Paging: warranty.Paging{Limit: 2}}
	out, answer, err := remote.Do(ctx, api.ListWarranties.Spec, &in)
	if err != nil {
		return nil, &remoteError{err, answer}
	}
	for _, w := range out.(*warranty.Page[warranty.Warranty]).Data {
		if w.ReferenceNumber == reference {
			return &w, nil
		}
	}
	return nil, warranty.ErrNotFound
}

// connect calls the service with the key, which it must have.
func (r *run) connect(patient bool) (*client.Client, error) {
	key, err := r.findKey()
	if err != nil {
		return nil, err
	}
	if key.Secret == "" {
		return nil, warranty.Refuse(warranty.MissingCredential, "No API key for "+r.address()+".")
	}
	r.debugf("key from %s", key.From)
	return r.connectAs(key.Secret, patient)
}

func (r *run) connectAs(key string, patient bool) (*client.Client, error) {
	attempts, maxWait := 4, 5*time.Second
	if patient {
		attempts, maxWait = 10, 2*time.Minute
	}
	if r.wait > 0 {
		maxWait = r.wait
	}
	options := []client.Option{
		client.WithUserAgent("svc/" + r.Version),
		client.WithAttempts(attempts),
		client.WithMaxWait(maxWait),
		client.WithObserver(r.observe),
	}
	remote, err := client.New(r.address(), key, append(options, r.ClientOptions...)...)
	if err != nil {
		return nil, usage("--base-url or SVC_BASE_URL is invalid: "+err.Error()+".", "Use the service's address, such as "+r.BaseURL+".")
	}
	return remote, nil
}

// observe tells of requests with --debug, and of waits always: a program that
// does nothing for a minute should say why.
func (r *run) observe(a client.Attempt) {
	switch {
	case a.Err != nil && a.Status == 0:
		r.debugf("%s %s: %s after %s", a.Method, a.URL, a.Err, a.Took.Round(time.Millisecond))
	default:
		r.debugf("%s %s: %d after %s, request_id %s", a.Method, a.URL, a.Status, a.Took.Round(time.Millisecond), a.RequestID)
	}
	switch {
	case a.Wait == 0:
	case a.Status == http.StatusTooManyRequests:
		r.note("Rate limit reached. Continuing in %s.", max(time.Second, a.Wait.Round(time.Second)))
	case a.Wait > time.Second || r.debug:
		r.note("The service is unavailable. Trying again in %s.", a.Wait.Round(10*time.Millisecond))
	}
}

func (r *run) makeDelete(cmd *cobra.Command, op *api.Spec) {
	yes := cmd.Flags().BoolP("yes", "y", false, "do not ask for confirmation")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what := line(args[0])
		if !*yes {
			if !r.StdinTerminal || !r.StderrTerminal {
				return usage("Nothing was deleted: there is no terminal to confirm it on.", "Give --yes to delete without confirmation.")
			}
			var err error
			if what, err = r.nameOf(cmd.Context(), op, args[0]); err != nil {
				return err
			}
			if err := r.confirm(cmd.Context(), "Delete "+what+"? It can no longer be read or verified."); err != nil {
				return err
			}
		}
		if err := r.operate(cmd, op, args); err != nil {
			return err
		}
		r.note("Deleted %s.", what)
		return nil
	}
}

// nameOf is what a person knows a warranty by. A key that may not read it leaves
// what was typed.
func (r *run) nameOf(ctx context.Context, op *api.Spec, typed string) (string, error) {
	if !strings.HasPrefix(op.Path, "/warranties/{id}") {
		return line(typed), nil
	}
	remote, err := r.connect(false)
	if err != nil {
		return "", err
	}
	var w *warranty.Warranty
	if reference, wrong := warranty.ParseReference(typed); wrong == nil {
		w, err = byReference(ctx, remote, reference)
	} else if id, wrong := warranty.ParseID(typed); wrong == nil {
		out, answer, failed := remote.Do(ctx, api.GetWarranty.Spec, &warranty.GetWarranty{ID: id})
		if w, err = out.(*warranty.Warranty), failed; err != nil {
			err = &remoteError{err, answer}
		}
	} else {
		return "", warranty.ErrNotFound
	}
	if p, ok := refusal(err); ok && p.Code == warranty.InsufficientScope {
		return line(typed), nil
	}
	if err != nil {
		return "", err
	}
	return line(w.ProductName) + " (" + string(w.ReferenceNumber) + ")", nil
}

// confirm asks a person. Anything but yes ends the command.
func (r *run) confirm(ctx context.Context, question string) error {
	r.prompt(question + " [y/N] ")
	answer, err := r.readLine(ctx)
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	r.note("Nothing was changed.")
	return exitError(exitUsage)
}

func (r *run) prompt(text string) { _, _ = io.WriteString(r.Stderr, text) }

func (r *run) makeVerify(cmd *cobra.Command, op *api.Spec) {
	cmd.Long = op.Summary + `
Without a key the public address is asked. The exit code is 0 when the warranty
is in force, 3 when there is none with this number, and 10 when it is not in
force today or the serial number is another one.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in, err := input(cmd, op, args)
		if err != nil {
			return err
		}
		if _, err := warranty.ParseReference(args[0]); err != nil {
			return warranty.ErrUnknownReference
		}
		key, err := r.findKey()
		if err != nil {
			return err
		}
		how := op
		if key.Secret == "" {
			how = api.VerifyPublicly.Spec
			r.debugf("no key: asking the public address")
		} else {
			r.debugf("key from %s", key.From)
		}
		remote, err := r.connectAs(key.Secret, false)
		if err != nil {
			return err
		}
		out, answer, err := remote.Do(cmd.Context(), how, in)
		if err != nil {
			return &remoteError{err, answer}
		}
		v, ok := out.(*warranty.Verification)
		if !ok {
			return fmt.Errorf("verify answered with a %T", out)
		}
		if err := r.show(how, out, answer); err != nil {
			return err
		}
		if !inForce(v) {
			return exitError(exitNotInForce)
		}
		return nil
	}
}

func inForce(v *warranty.Verification) bool {
	return v.Status == warranty.Active && (v.SerialMatches == nil || *v.SerialMatches)
}
