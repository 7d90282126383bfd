package cli

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
	"warranty.example/svc/warranty"
)

// addOperations adds a command for each operation of the table that has one.
func (r *run) addOperations(groups map[string]*cobra.Command) {
	for _, op := range api.Operations() {
		if !op.HasCommand() || op.Name == api.IssueWarranty.Name { // has issueCommand
			continue
		}
		noun, verb, _ := strings.Cut(op.Name, ".")
		if op.Name == api.VerifyWarranty.Name {
			noun = "" // svc verify
		}
		if groups[noun] == nil {
			groups[noun] = group(noun, "Manage "+noun)
			groups[""].AddCommand(groups[noun])
		}
		groups[noun].AddCommand(r.operationCommand(op, strings.ReplaceAll(verb, "_", "-")))
	}
}

func (r *run) operationCommand(op *api.Spec, verb string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     verb,
		Short:   strings.TrimSuffix(op.Summary, "."),
		Long:    op.Summary,
		Example: exampleOf(op),
	}
	var names []string
	for _, p := range op.Params {
		if p.In != api.Path {
			continue
		}
		names = append(names, p.Name)
		cmd.Use += " <" + p.Name + ">"
		switch p.Type {
		case reflect.TypeFor[warranty.WarrantyKey]():
			cmd.Long += "\nYou can use the reference number instead of the id."
		case reflect.TypeFor[warranty.ClaimKey]():
			cmd.Long += "\nYou can use the claim number instead of the id."
		}
	}
	cmd.Args, cmd.ValidArgsFunction = arguments(names...), cobra.NoFileCompletions
	if op.Scope != "" {
		cmd.Long += "\nRequires the scope " + string(op.Scope) + "."
	}
	if op.Auth == api.SessionOnly {
		cmd.Long += "\nRequires a session as the key, not an integration token."
	}
	addParams(cmd, op)
	r.addJQ(cmd)
	if op.Paged() && cmd.Flags().Lookup("limit") != nil {
		addAll(cmd)
	}
	if op.Name == api.SummarizeWarranties.Name {
		cmd.Aliases = []string{"summary"} // its path
	}
	switch {
	case op.Name == api.VerifyWarranty.Name:
		r.makeVerify(cmd, op)
	case op.Method == http.MethodDelete:
		r.makeDelete(cmd, op)
	default:
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.operate(cmd, op, args) }
	}
	return cmd
}

// exampleOf returns the example in the help of an operation: the one in examples, or else
// a command with the arguments and the required flags.
func exampleOf(op *api.Spec) string {
	if example := examples[op.Name]; example != "" {
		return example
	}
	words := []string{" ", "svc", strings.NewReplacer(".", " ", "_", "-").Replace(op.Name)}
	for _, p := range op.Params {
		switch {
		case p.In == api.Path:
			words = append(words, "01935b2e-7c4a-7def-8123-456789abcdef")
		case p.Required:
			words = append(words, "--"+p.Flag(), "'"+p.Example+"'")
		}
	}
	return strings.Join(words, " ")
}

var examples = map[string]string{
	"warranties.list": `  svc warranties list --status active --expiring-within-days 30
  svc warranties list --query bosch --pretty
  svc warranties list --updated-since 2026-03-01T12:00:00Z`,
	"warranties.deleted": "  svc warranties deleted --since 2026-03-01T12:00:00Z",
	"warranties.changes": "  svc warranties changes --since 2026-03-01T12:00:00Z",
	"warranties.create":  "  svc warranties create --product-name 'Kettle' --start-date 2026-03-01 --end-date 2028-02-29",
	"warranties.get":     "  svc warranties get WR-7K2M-9QXT-4D8P-HV3A --pretty",
	"warranties.update":  "  svc warranties update WR-7K2M-9QXT-4D8P-HV3A --status void",
	"warranties.delete":  "  svc warranties delete 01935b2e-7c4a-7def-8123-456789abcdef --yes",
	"warranties.verify": `  svc verify WR-7K2M-9QXT-4D8P-HV3A && echo in force
  svc verify --certificate WR-7K2M-9QXT-4D8P-HV3A.jwt --keys keys.json`,
	"claims.list":        "  svc claims list --status submitted",
	"claims.get":         "  svc claims get CL-3F9B-T6WZ-0QKN-58R5",
	"documents.list":     "  svc documents list --query invoice",
	"documents.get":      "  svc documents get 01935b2e-7c4a-7def-8123-456789abcdef",
	"auth.status":        "  svc auth status",
	"organizations.list": "  svc organizations list -o table",
}

// operate performs an operation and prints the result.
func (r *run) operate(cmd *cobra.Command, op *api.Spec, args []string) error {
	if err := r.ensureKey(cmd, op); err != nil {
		return err
	}
	in, err := input(cmd, op, args)
	if err != nil {
		return err
	}
	all, err := wantsAll(cmd)
	if err != nil {
		return err
	}
	remote, err := r.connect(all) // waits at the rate limit
	if err != nil {
		return err
	}
	do := remote.Do
	if all {
		do = func(ctx context.Context, op *api.Spec, in any) (any, client.Response, error) {
			return doAll(ctx, remote, op, in)
		}
	}
	out, response, err := do(cmd.Context(), op, in)
	if err != nil {
		return &remoteError{err, response}
	}
	if created, ok := out.(interface{ Replayed() bool }); ok && created.Replayed() {
		r.note("This idempotency key was already used. Showing the existing record.")
	}
	if issued, ok := out.(*warranty.IssuedWarranty); ok {
		if h := issued.Warranty.Handover; h != nil && h.NotEmailed != nil {
			r.note("%s", *h.NotEmailed)
		}
	}
	if err := r.show(cmd.Context(), op, out, response, api.Selected(in)); err != nil {
		return err
	}
	return withoutCode(in, out)
}

// withoutCode returns an error if a code was to be printed, but the response repeats an earlier one, which showed it.
func withoutCode(in, out any) error {
	switch in := in.(type) {
	case *warranty.IssueWarranty:
		if issued := out.(*warranty.IssuedWarranty); in.Printed() && issued.Code == nil {
			return &noCodeError{"The warranty was issued before", string(issued.Warranty.ReferenceNumber)}
		}
	case *warranty.OfferHandover:
		if offer := out.(*warranty.HandoverOffer); in.CustomerEmail == "" && offer.Code == nil {
			return &noCodeError{"The warranty was handed over before", in.ID.String()}
		}
	}
	return nil
}

// noCodeError means that the code of an offer was shown only by an earlier response, which may have been lost.
type noCodeError struct{ what, warranty string }

// Error returns what happened.
func (e *noCodeError) Error() string {
	return e.what + " by the same request. Its code is shown only once, so there is none to print."
}

func (e *noCodeError) fix() string {
	return "For a new code, which replaces the other one, run svc warranties hand-over " + e.warranty + "."
}

// ensureKey adds an idempotency key to a create without one, so that a retry after a
// lost response does not create a second record.
func (r *run) ensureKey(cmd *cobra.Command, op *api.Spec) error {
	flag := cmd.Flags().Lookup("idempotency-key")
	if flag == nil || flag.Changed || op.Method != http.MethodPost {
		return nil
	}
	key := client.NewKey()
	r.debugf("idempotency key %s", key)
	return cmd.Flags().Set("idempotency-key", key)
}

// call performs an operation. Errors are of type *remoteError.
func call[In, Out any](ctx context.Context, remote *client.Client, op api.Op[In, Out], in In) (
	out Out, response client.Response, err error,
) {
	result, response, err := remote.Do(ctx, op.Spec, &in)
	if err != nil {
		return out, response, &remoteError{err, response}
	}
	return *result.(*Out), response, nil
}

// connect returns a client with the key. A missing key is an error. A patient client
// waits longer before it gives up.
func (r *run) connect(patient bool) (*client.Client, error) {
	key, err := r.findKey()
	if err != nil {
		return nil, err
	}
	if key.Secret == "" {
		return nil, warranty.Refuse(warranty.MissingCredential, "No API key for %s.", r.address())
	}
	r.debugf("key from %s", key.From)
	return r.connectAs(key, patient)
}

func (r *run) connectAs(key credentials.Key, patient bool) (*client.Client, error) {
	attempts, maxWait := 4, 5*time.Second
	if patient {
		attempts, maxWait = 10, 2*time.Minute
	}
	if r.wait > 0 {
		maxWait = r.wait
	}
	account, err := r.accountOption()
	if err != nil {
		return nil, err
	}
	options := []client.Option{
		account,
		client.WithUserAgent("svc/" + r.Version),
		client.WithAttempts(attempts),
		client.WithMaxWait(maxWait),
		client.WithObserver(r.observe),
		client.WithTraceparent(r.Getenv(api.TraceparentEnv)),
	}
	if key.Connected {
		options = append(options, client.WithCredentials(r.signIn().Credential))
	}
	remote, err := client.New(r.address(), key.Secret, append(options, r.ClientOptions...)...)
	if err != nil {
		return nil, usage("Invalid --base-url or SVC_BASE_URL: "+err.Error()+".",
			"Use the base URL of the service, such as "+r.BaseURL+".")
	}
	return remote, nil
}

// accountOption makes the client act for the organization of --account or SVC_ACCOUNT.
func (r *run) accountOption() (client.Option, error) {
	given := r.accountID()
	if given == "" {
		return func(*client.Client) {}, nil
	}
	id, err := warranty.ParseID(given)
	if err != nil {
		return nil, usage("Invalid --account or SVC_ACCOUNT.",
			"Use the ID of an organization. svc organizations list shows yours.")
	}
	return client.WithAccount(id), nil
}

// accountID returns --account or SVC_ACCOUNT.
func (r *run) accountID() string {
	return strings.TrimSpace(cmp.Or(r.account, r.Getenv(credentials.AccountEnv)))
}

// observe logs requests with --debug, and always prints long waits.
func (r *run) observe(a client.Attempt) {
	took := a.Took.Round(time.Millisecond)
	if a.Err != nil && a.Status == 0 {
		r.debugf("%s %s: %s after %s", a.Method, a.URL, a.Err, took)
	} else {
		r.debugf("%s %s: %d after %s, request_id %s", a.Method, a.URL, a.Status, took, a.RequestID)
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
	yes := cmd.Flags().BoolP("yes", "y", false, "skip the confirmation")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		typed := args[len(args)-1]
		what, words := safeLine(typed), deletionOf(op)
		if !*yes {
			if !r.StdinTerminal || !r.StderrTerminal {
				return usage("Nothing was "+words.done+": confirmation requires a terminal.",
					"Use --yes to skip the confirmation.")
			}
			var err error
			if what, err = r.displayName(cmd.Context(), op, typed); err != nil {
				return err
			}
			if err := r.confirm(cmd.Context(), words.verb+" "+what+"? "+words.effect); err != nil {
				return err
			}
		}
		if err := r.operate(cmd, op, args); err != nil {
			return err
		}
		r.note("%s %s.", sentenceStart(words.done), what)
		return nil
	}
}

// deletion says what a DELETE does.
type deletion struct{ verb, done, effect string }

func deletionOf(op *api.Spec) deletion {
	switch op.Name {
	case api.DeleteWarranty.Name:
		return deletion{"Delete", "deleted", "Its owner can restore it in the web app for 30 days."}
	case api.DeleteOrganization.Name:
		return deletion{"Delete organization", "deleted", "It is erased after 30 days; until then, an admin can restore it."}
	case api.RemoveMember.Name:
		return deletion{"Remove member", "removed", "They lose access at once."}
	case api.CancelInvitation.Name:
		return deletion{"Cancel invitation", "cancelled", "Its code stops working."}
	case api.RemoveAddress.Name:
		return deletion{"Remove address", "removed", "Another account can then verify it."}
	case api.DeleteProduct.Name:
		return deletion{"Delete product", "deleted", "Warranties that were issued stay."}
	}
	return deletion{"Delete", "deleted", "You cannot undo this."}
}

// sentenceStart returns a word with a capital letter.
func sentenceStart(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// displayName returns the product and reference number of a warranty, or the argument
// if the key cannot read warranties.
func (r *run) displayName(ctx context.Context, op *api.Spec, typed string) (string, error) {
	if !strings.HasPrefix(op.Path, "/warranties/{id}") {
		return safeLine(typed), nil
	}
	key, err := warranty.ParseWarrantyKey(typed)
	if err != nil {
		return "", api.GetWarranty.NotFound()
	}
	remote, err := r.connect(false)
	if err != nil {
		return "", err
	}
	w, _, err := call(ctx, remote, api.GetWarranty, warranty.GetWarranty{ID: key})
	if p, ok := problemIn(err); ok && p.Code == warranty.InsufficientScope {
		return safeLine(typed), nil
	}
	if err != nil {
		return "", err
	}
	return safeLine(w.ProductName) + " (" + string(w.ReferenceNumber) + ")", nil
}

// confirm asks for confirmation. Any answer except yes ends the command.
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
Works without a key. The exit code is 0 if the warranty is in force, 3 if it does
not exist, and 10 if it is not in force today or the serial number does not match.

With --certificate and --keys, svc verifies a signed certificate of a warranty
instead, without a network, and says as of when it is. If the certificate is not
valid, the exit code is 1.`
	var f certificateFlags
	f.add(cmd)
	cmd.Args = certificateArguments(&f, cmd.Args)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.given(cmd) {
			return r.verifyCertificate(f, cmd.Flags().Lookup("serial").Value.String())
		}
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
		verify := api.VerifyWarranty
		if key.Secret == "" {
			verify = api.VerifyPublicly
			r.debugf("no key: using the public endpoint")
		} else {
			r.debugf("key from %s", key.From)
		}
		remote, err := r.connectAs(key, false)
		if err != nil {
			return err
		}
		v, response, err := call(cmd.Context(), remote, verify, *in.(*warranty.VerifyWarranty))
		if err != nil {
			return err
		}
		if err := r.show(cmd.Context(), verify.Spec, &v, response, nil); err != nil {
			return err
		}
		if !inForce(v) {
			return exitError(exitNotInForce)
		}
		return nil
	}
}

func inForce(v warranty.Verification) bool {
	return v.Status == warranty.Active && (v.SerialMatches == nil || *v.SerialMatches)
}
