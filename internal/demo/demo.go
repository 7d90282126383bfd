// Package demo fills an empty database with three users and their warranties, through
// the public operations.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Person is a user of the demo.
type Person struct{ Role, Name, Email, Password string }

// Demo contains the credentials of the demo.
type Demo struct {
	People []Person // without passwords if the demo already existed
	// Token is the secret of an integration token of the owner. It is empty if the owner
	// has too many tokens.
	Token string
	// Reference is a warranty to verify.
	Reference warranty.Reference
}

// people are the users of every demo. Their passwords are random.
var people = []Person{
	{Role: "owner", Name: "Nora Lindqvist", Email: "owner@demo.example"},
	{Role: "seller", Name: "Hanne Dahl", Email: "seller@demo.example"},
	{Role: "issuer", Name: "Ivar Brandt", Email: "issuer@demo.example"},
}

// The organizations of the issuer and the seller, and the address at which records name the seller.
const (
	issuerName  = "Brandt Home Appliances"
	sellerName  = "Halden Electronics"
	sellerEmail = "service@halden.example"
)

const tokenName = "Demo token"

// Fill creates the demo. If it already exists, its passwords and tokens stay valid, and
// Fill creates another token, because secrets cannot be read back.
func Fill(ctx context.Context, s *service.Service) (Demo, error) {
	quiet := *s
	quiet.Silent = true // no emails about sign-ins and tokens
	quiet.Log = slog.New(slog.DiscardHandler)
	quiet.VerifyRate, quiet.SignInRate, quiet.SignUpRate = 0, 0, 0
	ctx = service.AsOneForm(ctx)
	s = &quiet
	has, err := s.Store.HasUsers(ctx)
	if err != nil {
		return Demo{}, err
	}
	if has {
		// An unfinished demo is created again.
		cleared, err := s.Store.ClearUnfinished(ctx, milestone, emails())
		if err != nil || !cleared {
			return reopen(ctx, s, err)
		}
	}
	d, err := withPasswords()
	if err != nil {
		return d, err
	}
	for _, p := range d.People {
		if _, err := s.AddUser(ctx, warranty.Register{Name: p.Name, Email: p.Email, Password: p.Password}); err != nil {
			return d, err
		}
	}
	if err := fill(ctx, s, d.People); err != nil {
		return d, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.ReachMilestone(milestone, s.Now())
		return err
	})
	if err != nil {
		return d, err
	}
	return finish(ctx, s, d)
}

// milestone marks a finished demo.
const milestone = "demo"

func emails() []string {
	list := make([]string, 0, len(people))
	for _, p := range people {
		list = append(list, p.Email)
	}
	return list
}

// fill creates the records of all users, with their history.
func fill(ctx context.Context, s *service.Service, people []Person) error {
	story := &story{s: s, now: s.Now(), made: map[string]warranty.Warranty{}}
	defer story.signOut(ctx)
	for _, p := range people {
		if err := story.signIn(ctx, p); err != nil {
			return err
		}
	}
	if err := story.run(ctx); err != nil {
		return err
	}
	// Discard the emails of the story.
	quiet := *s
	quiet.Mail = mail.NewLog(slog.New(slog.DiscardHandler))
	quiet.Now = func() time.Time { return s.Now().AddDate(-20, 0, 0) } // before any of the codes expired
	return quiet.SendAllMail(ctx)
}

func withPasswords() (Demo, error) {
	d := Demo{People: append([]Person(nil), people...)}
	for i := range d.People {
		code, err := warranty.NewCode(rand.Reader)
		if err != nil {
			return d, err
		}
		d.People[i].Password = strings.ToLower(code)
	}
	return d, nil
}

// reopen returns the users of an existing demo and a new token.
func reopen(ctx context.Context, s *service.Service, err error) (Demo, error) {
	if err != nil {
		return Demo{}, err
	}
	d := Demo{People: append([]Person(nil), people...)}
	var owner warranty.User
	for i := range d.People {
		account, err := s.Store.AccountByEmail(ctx, d.People[i].Email)
		if errors.Is(err, warranty.ErrNotFound) {
			return d, errors.New(
				"--demo needs an empty database, and this one has other accounts; choose another one with --data")
		}
		if err != nil {
			return d, err
		}
		if i == 0 {
			owner = account.User
		}
	}
	who, err := sessionOf(ctx, s, owner)
	if err != nil && warranty.AsError(err).Code == warranty.SecondFactorRequired {
		return d, nil // a visitor turned it on
	}
	if err != nil {
		return d, err
	}
	ends := s.Now().AddDate(0, 0, laterTokenDays)
	name := tokenName + s.Now().UTC().Format(", 2 Jan 2006 15:04:05.000")
	if d, err = d.ready(ctx, s, who, warranty.CreateToken{Name: name, ExpiresAt: &ends}); err != nil {
		return d, err
	}
	_, err = s.SignOut(ctx, who, warranty.SignOut{})
	return d, err
}

const (
	// laterTokenDays is the lifetime of a token created by a later start.
	laterTokenDays = 7
	// maxTokens is the number of active tokens at which a later start adds no more, so
	// that visitors can still create some.
	maxTokens = warranty.MaxActiveTokens - 5
)

// sessionOf signs a person in without their password, with a code like those that are emailed.
func sessionOf(ctx context.Context, s *service.Service, user warranty.User) (warranty.Principal, error) {
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.Principal{}, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.InsertCode(warranty.HashCode(code), store.ForSignIn, user.ID, s.Now().Add(time.Minute))
	})
	if err != nil {
		return warranty.Principal{}, err
	}
	return signIn(ctx, s, warranty.SignIn{Email: user.Email, Code: code})
}

// finish creates the first token of the owner.
func finish(ctx context.Context, s *service.Service, d Demo) (Demo, error) {
	err := signedIn(ctx, s, d.People[0], func(owner warranty.Principal) (err error) {
		d, err = d.ready(ctx, s, owner, warranty.CreateToken{Name: tokenName})
		return err
	})
	return d, err
}

// ready creates a token with every scope and picks a warranty to verify.
func (d Demo) ready(
	ctx context.Context, s *service.Service, owner warranty.Principal, in warranty.CreateToken,
) (Demo, error) {
	for _, scope := range warranty.AllScopes {
		in.Scopes = append(in.Scopes, string(scope))
	}
	active, err := s.CountActiveTokens(ctx, owner)
	if err != nil {
		return d, err
	}
	if active < maxTokens {
		token, err := s.CreateToken(ctx, owner, in)
		if err != nil {
			return d, err
		}
		d.Token = token.Secret
	}
	list, err := s.ListWarranties(ctx, owner, warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Status: warranty.Active}})
	for _, w := range list.Data {
		// Preferably one that someone stands behind.
		if issued := !w.Roles.Has(warranty.Issuer) && w.SellerConfirmed; issued || d.Reference == "" {
			d.Reference = w.ReferenceNumber
			if issued {
				break
			}
		}
	}
	return d, err
}

// signedIn runs do in a session of p and ends the session.
func signedIn(ctx context.Context, s *service.Service, p Person, do func(warranty.Principal) error) error {
	who, err := signIn(ctx, s, warranty.SignIn{Email: p.Email, Password: p.Password})
	if err != nil {
		return err
	}
	if err := do(who); err != nil {
		return err
	}
	_, err = s.SignOut(ctx, who, warranty.SignOut{})
	return err
}

func signIn(ctx context.Context, s *service.Service, in warranty.SignIn) (warranty.Principal, error) {
	session, err := s.SignIn(ctx, warranty.Principal{}, in)
	if err != nil {
		return warranty.Principal{}, err
	}
	who, err := s.Authenticate(ctx, session.AccessToken, false)
	who.Door = warranty.DoorWeb
	return who, err
}

// at returns the service with its clock set to when.
func at(s *service.Service, when time.Time) *service.Service {
	then := *s
	then.Now = func() time.Time { return when }
	then.NewID = func() warranty.ID {
		id := warranty.ID(uuid.Must(uuid.NewV7()))
		ms := when.UnixMilli()
		for i := range 6 {
			id[i] = byte(ms >> (40 - 8*i))
		}
		return id
	}
	return &then
}

// Print prints how to use the demo.
func (d Demo) Print(w io.Writer, publicURL string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe demo is ready at %s\n\nSign in as\n", publicURL)
	again := d.People[0].Password == ""
	for _, p := range d.People {
		if again {
			fmt.Fprintf(&b, "  %-7s %s\n", p.Role, p.Email)
		} else {
			fmt.Fprintf(&b, "  %-7s %-20s password %s\n", p.Role, p.Email, p.Password)
		}
	}
	if again {
		fmt.Fprintf(&b, "The passwords were printed at the first start. To set a new one, run this with the same\n"+
			"--data or --database:\n  svcd user password %s\n", d.People[0].Email)
	}
	switch {
	case d.Token == "":
		b.WriteString(
			"\nThe owner already has many tokens. Use one of them, or revoke some in Settings, API / CLI / MCP.\n")
	case again:
		fmt.Fprintf(&b, "\nTry the API with a new token of the owner, valid for %d days; earlier tokens keep working\n",
			laterTokenDays)
	default:
		b.WriteString("\nTry the API with the owner's token\n")
	}
	if d.Token != "" {
		fmt.Fprintf(&b, "  export SVC_API_KEY=%s\n", d.Token)
	}
	fmt.Fprintf(&b, "  curl -H \"x-api-key: $SVC_API_KEY\" \"%s/api/v1/warranties?status=active&limit=3\"\n", publicURL)
	fmt.Fprintf(&b, "\nVerify a warranty without a token\n  curl \"%s/verify/%s\"\n\n", publicURL, d.Reference)
	if local := localURL(publicURL); local != "" {
		fmt.Fprintf(&b, "Passkeys need a name in place of the IP address. To try them, start it with\n  --public-url %s\n\n", local)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// localURL returns the address on localhost of a public URL with a loopback address, which cannot have passkeys, or "".
func localURL(public string) string {
	u, err := url.Parse(public)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.Is4() || !ip.IsLoopback() {
		return ""
	}
	return u.Scheme + "://localhost" + strings.TrimPrefix(u.Host, u.Hostname())
}
