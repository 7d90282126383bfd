// Package demo fills an empty database with three people and their warranties,
// through the same operations that everybody uses.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Person is somebody who can sign in to the demo.
type Person struct{ Role, Name, Email, Password string }

// Demo is what a visitor needs: who to sign in as, and a ready token.
type Demo struct {
	People []Person
	// Token is the secret of the owner's integration token.
	Token string
	// Reference is a warranty to verify.
	Reference warranty.Reference
}

// people are the same in every demo; their passwords are not.
var people = []Person{
	{Role: "owner", Name: "Nora Lindqvist", Email: "owner@demo.example"},
	{Role: "seller", Name: "Halden Electronics", Email: "seller@demo.example"},
	{Role: "issuer", Name: "Brandt Home Appliances", Email: "issuer@demo.example"},
}

const tokenName = "Demo token"

// Fill makes the demo, or opens one that is there again with new passwords and a
// new token: what was printed once can not be read back.
func Fill(ctx context.Context, s *service.Service) (Demo, error) {
	has, err := s.Store.HasUsers(ctx)
	if err != nil {
		return Demo{}, err
	}
	if has {
		// What a start that was cut short has left is made anew.
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

// milestone tells a demo that is whole.
const milestone = "demo"

func emails() []string {
	list := make([]string, 0, len(people))
	for _, p := range people {
		list = append(list, p.Email)
	}
	return list
}

// fill makes everybody's records and what happened to them since.
func fill(ctx context.Context, s *service.Service, people []Person) error {
	story := &story{s: s, now: s.Now(), made: map[string]warranty.Warranty{}}
	defer story.signOut(ctx)
	for _, p := range people {
		if err := story.signIn(ctx, p); err != nil {
			return err
		}
	}
	if err := story.tell(ctx); err != nil {
		return err
	}
	// What the story would have mailed at the time is nothing to mail now.
	quiet := *s
	quiet.Mail = mail.NewLog(slog.New(slog.DiscardHandler))
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

// reopen gives the people of an existing demo new passwords.
func reopen(ctx context.Context, s *service.Service, err error) (Demo, error) {
	if err != nil {
		return Demo{}, err
	}
	d, err := withPasswords()
	if err != nil {
		return d, err
	}
	for _, p := range d.People {
		err := s.SetPassword(ctx, p.Email, p.Password)
		if errors.Is(err, warranty.ErrNotFound) {
			return d, errors.New("--demo needs an empty database, and this one has other people's records; choose another with --data")
		}
		if err != nil {
			return d, err
		}
	}
	return finish(ctx, s, d)
}

// finish makes the owner's token anew and picks a warranty to verify.
func finish(ctx context.Context, s *service.Service, d Demo) (Demo, error) {
	return d, signedIn(ctx, s, d.People[0], func(owner warranty.Principal) error {
		tokens, err := s.ListTokens(ctx, owner, warranty.ListTokens{Paging: warranty.Paging{Limit: warranty.MaxLimit}})
		if err != nil {
			return err
		}
		for _, t := range tokens.Data {
			if t.Name == tokenName && t.Status == warranty.TokenIsActive {
				if _, err := s.RevokeToken(ctx, owner, warranty.RevokeToken{ID: t.ID}); err != nil {
					return err
				}
			}
		}
		in := warranty.CreateToken{Name: tokenName}
		for _, scope := range warranty.AllScopes {
			in.Scopes = append(in.Scopes, string(scope))
		}
		token, err := s.CreateToken(ctx, owner, in)
		if err != nil {
			return err
		}
		list, err := s.ListWarranties(ctx, owner, warranty.ListWarranties{Status: warranty.Active})
		if err == nil && len(list.Data) > 0 {
			d.Reference = list.Data[0].ReferenceNumber
		}
		d.Token = token.Secret
		return err
	})
}

// signedIn does something as a person, in a session that ends with it.
func signedIn(ctx context.Context, s *service.Service, p Person, do func(warranty.Principal) error) error {
	who, err := signIn(ctx, s, p)
	if err != nil {
		return err
	}
	if err := do(who); err != nil {
		return err
	}
	_, err = s.SignOut(ctx, who, warranty.SignOut{})
	return err
}

func signIn(ctx context.Context, s *service.Service, p Person) (warranty.Principal, error) {
	session, err := s.SignIn(ctx, warranty.Principal{}, warranty.SignIn{Email: p.Email, Password: p.Password})
	if err != nil {
		return warranty.Principal{}, err
	}
	who, err := s.Authenticate(ctx, session.AccessToken, false)
	who.Door = warranty.DoorWeb
	return who, err
}

// at is the service as it would have been at another time.
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

// Print tells a visitor how to come in.
func (d Demo) Print(w io.Writer, publicURL string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe demo is ready at %s\n\nSign in as\n", publicURL)
	for _, p := range d.People {
		fmt.Fprintf(&b, "  %-7s %-20s password %s\n", p.Role, p.Email, p.Password)
	}
	fmt.Fprintf(&b, "\nTry the API with the owner's token\n  export SVC_API_KEY=%s\n", d.Token)
	fmt.Fprintf(&b, "  curl -H \"x-api-key: $SVC_API_KEY\" \"%s/api/v1/warranties?status=active&limit=3\"\n", publicURL)
	fmt.Fprintf(&b, "\nVerify a warranty, as anyone can\n  curl \"%s/verify/%s\"\n\n", publicURL, d.Reference)
	_, err := io.WriteString(w, b.String())
	return err
}
