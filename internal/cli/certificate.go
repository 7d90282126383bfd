package cli

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/warranty"
)

// certificateFlags are the flags of svc verify for certificates.
type certificateFlags struct{ certificate, keys string }

func (f *certificateFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.certificate, "certificate", "",
		"verify the certificate in this `file`, or - for standard input, with the keys in --keys and without a network")
	cmd.Flags().StringVar(&f.keys, "keys", "",
		"`file` with the keys of the service that signed the certificate, from its /.well-known/jwks.json")
}

// given reports whether a certificate is verified instead of a reference number.
func (f *certificateFlags) given(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("certificate") || cmd.Flags().Changed("keys")
}

// statement is what svc prints about a certificate.
type statement struct {
	AsOf          warranty.Date `json:"as_of"`
	SerialMatches *bool         `json:"serial_matches"`
	warranty.CertificateClaims
}

// verifyCertificate checks a certificate with no network.
func (r *run) verifyCertificate(f certificateFlags, serial string) error {
	switch {
	case f.certificate == "" || f.keys == "":
		return usage("--certificate and --keys belong together.",
			"Get the keys once from the service: curl -o keys.json https://…/.well-known/jwks.json")
	case f.certificate == "-" && f.keys == "-":
		return usage("Only one of --certificate and --keys can be -.", "Give a file for the other one.")
	}
	encoded, err := r.readSmall(f.keys, warranty.MaxKeySet)
	if err != nil {
		return err
	}
	keys, err := warranty.ParseKeySet(encoded)
	if err != nil {
		return usage("The file of --keys is not a JWK Set: "+err.Error()+".",
			"Get it from the service: curl -o keys.json https://…/.well-known/jwks.json")
	}
	text, err := r.readSmall(f.certificate, warranty.MaxCertificate)
	if err != nil {
		return err
	}
	claims, err := keys.Verify(string(text))
	if err != nil {
		return &invalidCertificateError{err}
	}
	shown := statement{AsOf: warranty.DateOf(claims.Time()), CertificateClaims: claims}
	if serial != "" {
		matches := claims.SerialSHA256 != nil && warranty.SerialHash(serial) == *claims.SerialSHA256
		shown.SerialMatches = &matches
	}
	if err := r.showLocal(shown, func() string { return r.statementText(shown) }); err != nil {
		return err
	}
	r.note("Signed by %s. This is as of %s; ask the service for today.", safeLine(claims.Service), claims.Time().Format("2 Jan 2006"))
	if !r.covers(shown) {
		return exitError(exitNotInForce)
	}
	return nil
}

// invalidCertificateError means that a certificate does not verify.
type invalidCertificateError struct{ cause error }

// Error says why.
func (e *invalidCertificateError) Error() string {
	return "The certificate is not valid: " + e.cause.Error()
}

// readSmall reads a file or standard input.
func (r *run) readSmall(name string, limit int64) ([]byte, error) {
	in := r.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, usage(sentence(err.Error()), "Check the path.")
		}
		defer file.Close()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, usage(sentence(err.Error()), "Give the path of a file.")
	}
	return b, nil
}

// covers reports whether the certificate says that the warranty is in force today, unless it changed since.
func (r *run) covers(s statement) bool {
	ended := s.Status == warranty.Void || s.Status == warranty.Cancelled
	return !ended && s.StartDate <= r.today() && r.today() <= s.EndDate && (s.SerialMatches == nil || *s.SerialMatches)
}

func (r *run) statementText(s statement) string {
	style := r.outStyle()
	text := style.status("active", "✓ The certificate is valid") + ", as of " + s.Time().Format("2 Jan 2006") + "\n"
	switch {
	case s.SerialMatches != nil && !*s.SerialMatches:
		text += style.bad("✗ The serial number does not match") + "\n"
	case !r.covers(s):
		text += style.bad("✗ Not in force: "+strings.ToLower(s.Status.Words("en"))) + "\n"
	}
	party := func(p *warranty.CertificateParty) string {
		if p == nil {
			return ""
		}
		return p.Domain + ", calls itself “" + p.Name + "”"
	}
	optional := func(v *string) string {
		if v == nil {
			return ""
		}
		return *v
	}
	end := s.EndDate.String()
	if s.EndDate == warranty.Lifetime {
		end = "lifetime"
	}
	pairs := []pair{
		{"product", s.ProductName}, {"reference_number", string(s.ReferenceNumber)}, {"brand", optional(s.Brand)},
		{"model", optional(s.Model)}, {"gtin", optional(s.GTIN)}, {"serial_sha256", optional(s.SerialSHA256)},
		{"start_date", s.StartDate.String()}, {"end_date", end}, {"status", s.Status.Words("en")},
		{"assurance", s.Assurance.Words("en")}, {"issuer", party(s.Issuer)}, {"seller", party(s.Seller)}, {"signed by", s.Service},
	}
	for i := range pairs {
		pairs[i].value = safeLine(pairs[i].value)
	}
	return text + "\n" + listing(pairs, style)
}

// certificateArguments requires a reference, or none with a certificate.
func certificateArguments(f *certificateFlags, reference cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if !f.given(cmd) {
			return reference(cmd, args)
		}
		if len(args) > 0 {
			return usage("A reference number and --certificate exclude each other.", "Give one of them.")
		}
		return nil
	}
}

// invalidCertificate returns the error of a certificate that does not verify, if err is one.
func invalidCertificate(err error) (string, bool) {
	var invalid *invalidCertificateError
	if !errors.As(err, &invalid) {
		return "", false
	}
	return strings.TrimSuffix(invalid.Error(), ".") + ".", true
}
