package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

var ctx = context.Background()

func quiet(string, int64) {}

func newID() warranty.ID { return warranty.ID(uuid.Must(uuid.NewV7())) }

// emptyDatabases make databases that do not exist yet.
var emptyDatabases = map[string]func(testing.TB) string{
	"sqlite":   func(t testing.TB) string { return filepath.Join(t.TempDir(), "new.db") },
	"postgres": testenv.Postgres,
}

// person is a signed-in user.
type person struct{ warranty.Principal }

// signUp adds a user with a session.
func signUp(t testing.TB, w *servertest.World, name string) person {
	t.Helper()
	u, err := w.Service.AddUser(ctx, warranty.Register{
		Name: name, Email: strings.ToLower(name) + "@people.example", Password: servertest.Password})
	if err != nil {
		t.Fatal(err)
	}
	session, err := w.Service.SignIn(ctx, warranty.Principal{Door: warranty.DoorAPI},
		warranty.SignIn{Email: u.Email, Password: servertest.Password})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Service.Authenticate(ctx, session.AccessToken, false)
	if err != nil {
		t.Fatal(err)
	}
	p.Door = warranty.DoorAPI
	return person{p}
}

// record creates a warranty.
func (p person) record(w *servertest.World, name, seller string) (warranty.Warranty, error) {
	day := func(text string) (d warranty.Date) { _ = d.UnmarshalText([]byte(text)); return d }
	return w.Service.CreateWarranty(ctx, p.Principal, warranty.CreateWarranty{ProductName: name,
		Description: "Quotes \" and \\, a line\nand 🧰", SerialNumber: "SN 1",
		StartDate: day("2024-01-01"), EndDate: day("2099-12-31"), SellerEmail: seller})
}

// upload adds a document.
func (p person) upload(w *servertest.World, id warranty.ID, content string) (warranty.Document, error) {
	stored, err := w.Service.StoreFile(ctx, strings.NewReader(content))
	if err != nil {
		return warranty.Document{}, err
	}
	return w.Service.UploadDocument(ctx, p.Principal, stored,
		warranty.UploadDocument{WarrantyID: warranty.WarrantyKey{ID: id}, Type: warranty.Receipt, FileName: "a.txt"})
}

// must fails the test on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// populate fills every table that holds data of users.
func populate(t testing.TB, w *servertest.World) (olga, sami person) {
	t.Helper()
	olga, sami = signUp(t, w, "Olga"), signUp(t, w, "Sami")
	record := must[warranty.Warranty](t)
	var first warranty.Warranty
	for i := range 30 {
		made := record(olga.record(w, fmt.Sprintf("Kettle %d", i), sami.User.Email))
		if i == 0 {
			first = made
		}
	}
	key := warranty.WarrantyKey{ID: first.ID}
	for i := range 5 {
		must[warranty.Document](t)(olga.upload(w, first.ID, fmt.Sprintf("Receipt %d", i)))
	}
	must[warranty.Claim](t)(w.Service.FileClaim(ctx, olga.Principal, warranty.FileClaim{WarrantyID: key,
		Type: warranty.Repair, Description: "Broken", IncidentDate: first.StartDate}))
	name := "Renamed"
	must[warranty.Warranty](t)(w.Service.UpdateWarranty(ctx, olga.Principal, warranty.UpdateWarranty{ID: key, ProductName: &name}))
	must[warranty.TransferOffer](t)(w.Service.OfferTransfer(ctx, olga.Principal,
		warranty.OfferTransfer{ID: key, Email: "next@people.example"}))
	must[warranty.NewToken](t)(w.Service.CreateToken(ctx, olga.Principal,
		warranty.CreateToken{Name: "ERP", Scopes: []string{"warranties:read"}}))
	if _, err := w.Service.RequestPasswordReset(ctx, warranty.Principal{},
		warranty.RequestPasswordReset{Email: sami.User.Email}); err != nil {
		t.Fatal(err)
	}
	must[string](t)(w.Service.NewCalendar(ctx, olga.Principal))
	connectApp(t, w, olga)
	return olga, sami
}

// connectApp connects an app, and leaves a request that waits for a decision.
func connectApp(t testing.TB, w *servertest.World, p person) {
	t.Helper()
	const verifier, redirect = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "https://app.example/callback"
	client, err := w.Service.RegisterClient(ctx, p.Principal, "App", []string{redirect})
	if err != nil {
		t.Fatal(err)
	}
	asked := warranty.Authorization{Client: client, Redirect: redirect, Scopes: warranty.AllScopes,
		Challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}
	must[string](t)(w.Service.StartAuthorization(ctx, p.Principal, asked))
	id := must[string](t)(w.Service.StartAuthorization(ctx, p.Principal, asked))
	code := must[string](t)(w.Service.ApproveAuthorization(ctx, p.Principal, id, warranty.AllScopes))
	must[service.AppTokens](t)(w.Service.ExchangeCode(ctx, client.ID, code, redirect, verifier))
}

// organize creates an organization with a member, an address, an invitation and an address that waits for its code.
func organize(t testing.TB, w *servertest.World, admin, member person) {
	t.Helper()
	o := must[warranty.Organization](t)(w.Service.CreateOrganization(ctx, admin.Principal, warranty.CreateOrganization{Name: "Halden"}))
	must[warranty.Invitation](t)(w.Service.CreateInvitation(ctx, admin.Principal,
		warranty.CreateInvitation{ID: o.ID, Email: "ivo@people.example", Role: warranty.Member}))
	must[warranty.None](t)(w.Service.AddAddress(ctx, admin.Principal, warranty.AddAddress{ID: o.ID, Email: "info@halden.example"}))
	err := w.Store.Write(ctx, func(tx *store.Tx) error {
		now := w.Clock.Now()
		address := warranty.Address{ID: w.Service.NewID(), Email: "service@halden.example", VerifiedAt: now}
		return errors.Join(tx.InsertMember(o.ID, member.User.ID, warranty.Viewer, warranty.MailChoices{}, now),
			tx.InsertAddress(o.ID, address),
			tx.InsertSetupCode(warranty.HashCode("B"), now.Add(time.Hour)),
			tx.InsertProof(admin.CredentialID, o.ID, w.Service.NewID(), now),
			tx.InsertFlow(store.Flow{Hash: warranty.HashCode("F"), Kind: store.FlowSecondStep, User: &admin.User.ID, State: []byte("{}"),
				Created: now, Expires: now.Add(time.Hour)}),
			tx.InsertRecoveryCode(admin.User.ID, warranty.HashRecoveryCode("R"), now), // it stays
			tx.InsertAskedCode(store.Taking{Warranty: warranty.Warranty{ID: o.ID}, Giver: o.ID, MadeBy: admin.User.ID},
				store.AskedCode{
					Page: warranty.HashCode("P"), Email: "next@people.example", Link: warranty.HashCode("L"),
					Digits: warranty.HashCode("D"), Expires: now.Add(time.Hour),
				}),
			tx.InsertOfferCode(store.OfferCode{
				Hash: warranty.HashCode("A"), Warranty: o.ID, Giver: o.ID, By: admin.User.ID, SignsInUntil: &now, Expires: now.Add(time.Hour),
			}),
			tx.InsertDomain(o.ID, warranty.Domain{ID: w.Service.NewID(), Domain: "halden.example", CreatedAt: now}, "text"))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// backup returns a backup of a world.
func backup(t testing.TB, w *servertest.World) []byte {
	t.Helper()
	var out bytes.Buffer
	done, err := archive.Backup(ctx, w.Store, w.Service.Files, &out, "test", time.Now(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Missing)+len(done.Damaged) > 0 {
		t.Fatalf("missing %v, damaged %v", done.Missing, done.Damaged)
	}
	return out.Bytes()
}

// restored is a place that was made from a backup.
type restored struct {
	*service.Service
	database string
	summary  archive.Summary
}

// newTarget returns an empty place.
func newTarget(t testing.TB, kind string) (archive.Target, *files.Dir) {
	t.Helper()
	dir, err := files.Open(filepath.Join(t.TempDir(), "files"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	to := archive.Target{Database: emptyDatabases[kind](t), Files: dir, Folder: newID(), ID: newID(), NewID: newID,
		Now: time.Now().UTC()}
	to.BeforeCommit = func() error { return dir.SetID(ctx, files.ID{Database: to.ID, Folder: to.Folder}) }
	return to, dir
}

// restore restores a backup and opens it.
func restore(t testing.TB, kind string, from []byte, keep bool) restored {
	t.Helper()
	to, dir := newTarget(t, kind)
	to.KeepCredentials = keep
	done, err := archive.Restore(ctx, bytes.NewReader(from), to, quiet)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(ctx, to.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	s := service.New(st, nil)
	s.Files = dir
	return restored{s, to.Database, done}
}

// check fails if the restored data contradicts itself.
func (r restored) check(t testing.TB) {
	t.Helper()
	if err := r.Store.CheckIntegrity(ctx); err != nil {
		t.Errorf("integrity: %v", err)
	}
	faults, err := r.Store.CheckRecords(ctx, warranty.DateOf(time.Now()), func(string) {})
	if err != nil || len(faults) > 0 {
		t.Errorf("faults: %v, %v", faults, err)
	}
	err = r.Store.EachFile(ctx, func(f store.StoredFile) error {
		file, err := r.Files.Get(ctx, f.Key, "")
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file %s is missing", f.Key)
			return nil
		}
		if err != nil {
			return err
		}
		return file.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// sums returns the checksums of all tables by name.
func sums(t testing.TB, s *store.Store) map[string]archive.TableSum {
	t.Helper()
	list, err := archive.Sums(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]archive.TableSum{}
	for _, sum := range list {
		m[sum.Name] = sum
	}
	return m
}
