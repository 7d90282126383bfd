package service_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// keys returns the keys that the service publishes.
func (w *world) keys() warranty.KeySet {
	w.T.Helper()
	a := w.Get("/.well-known/jwks.json", "")
	set, err := warranty.ParseKeySet([]byte(a.Body))
	if err != nil || a.Status != 200 {
		w.T.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	return set
}

// TestCertificates: only what an organization with a verified domain stands behind has one, and all else looks unknown.
func TestCertificates(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, _ *stoppedClock) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		get := func(r warranty.Reference) answer { return w.Get("/verify/"+string(r)+"/certificate", "") }
		unknown := get("WR-0000-0000-0000-0000")
		equal(t, "unknown", unknown.Code(), "not_found")
		none := func(what string, r warranty.Reference) {
			t.Helper()
			a := get(r)
			equal(t, what, anonymised(t, a), anonymised(t, unknown))
			equal(t, what, a.Status, 404)
			equal(t, what+", as PDF", w.Get("/verify/"+string(r)+"/certificate.pdf", "").Code(), "not_found")
		}
		claims := func(what string, r warranty.Reference) (c warranty.CertificateClaims) {
			t.Helper()
			a := get(r)
			equal(t, what, a.Status, 200)
			equal(t, what, a.Header.Get("Content-Type"), "application/jwt")
			equal(t, what, a.Header.Get("Cache-Control"), "no-store")
			equal(t, what, a.Header.Get("Content-Disposition"), `attachment; filename="`+string(r)+`.jwt"`)
			c, err := w.keys().Verify(a.Body)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return c
		}
		own := w.record(kim, "")
		none("a household's own", own.ReferenceNumber)
		made := shop.sells(warranty.CreateWarranty{Brand: "Halden", Model: "H 7", GTIN: "4006381333931", SerialNumber: "SN-12 34"})
		none("recorded for itself", made.ReferenceNumber)
		code := shop.prints(made.ID)
		if _, err := w.take(kim, code); err != nil {
			t.Fatal(err)
		}
		none("without a domain", made.ReferenceNumber)
		if _, err := w.Service.VerifyDomain(ctx, shop.ID, "halden.example"); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(claims("issued", made.ReferenceNumber))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the claims", string(encoded), `{"iss":"`+servertest.PublicURL+`","iat":`+strconv.FormatInt(w.Service.Now().Unix(), 10)+`,"reference_number":"`+string(made.ReferenceNumber)+
			`","product_name":"Pan","brand":"Halden","model":"H 7","gtin":"4006381333931","serial_sha256":"`+warranty.SerialHash("sn1234")+
			`","start_date":"2020-01-01","end_date":"2099-12-31","status":"active","assurance":"issuer_verified","issuer":{"name":"`+
			shop.Name+`","domain":"halden.example"},"seller":null}`)

		printed := w.Get("/verify/"+string(made.ReferenceNumber)+"/certificate.pdf", "")
		equal(t, "the page", printed.Header.Get("Content-Type"), "application/pdf")
		if !strings.HasPrefix(printed.Body, "%PDF-") {
			t.Errorf("not a PDF: %.20q", printed.Body)
		}
		w.write(func(tx *store.Tx) error {
			return tx.InsertAddress(shop.ID, warranty.Address{ID: w.Service.NewID(), Email: "info@halden.example", VerifiedAt: w.Clock.Now()})
		})
		named := w.record(kim, "info@halden.example")
		none("named, not confirmed", named.ReferenceNumber)
		w.confirm(shop.acting, named.ID)
		c := claims("confirmed", named.ReferenceNumber)
		if c.Assurance != warranty.SellerConfirmed || c.Issuer != nil || c.Seller == nil || c.Seller.Domain != "halden.example" || c.SerialSHA256 != nil {
			t.Errorf("confirmed: %+v", c)
		}
		void := warranty.Void
		if _, err := w.Service.UpdateWarranty(ctx, shop.acting.Principal, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, Status: &void}); err != nil {
			t.Fatal(err)
		}
		equal(t, "the status", claims("void", made.ReferenceNumber).Status, warranty.Void)
		if _, err := w.Service.DeleteWarranty(ctx, kim.Principal, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: named.ID}}); err != nil {
			t.Fatal(err)
		}
		none("deleted", named.ReferenceNumber)

		etag := w.Get("/.well-known/jwks.json", "").Header.Get("ETag")
		again := w.Do(request{Method: "GET", Path: "/.well-known/jwks.json", Header: map[string]string{"If-None-Match": etag}})
		equal(t, "not modified", again.Status, 304)
		equal(t, "the issuer of the keys", w.keys().Issuer, servertest.PublicURL)
		w.Service.SigningKey = nil
		none("without a key", made.ReferenceNumber)
	}, busy)
}

// TestSigningKeysOfReplicas: of replicas with different keys, the first wins, whoever it is. A key that was replaced
// is refused at the start, still verifies what it signed, and signs nothing once it is revoked.
func TestSigningKeysOfReplicas(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*servertest.World) {
		if _, err := worlds[0].DB.Exec("DELETE FROM signing_keys"); err != nil {
			t.Fatal(err)
		}
		const starts = 12
		var wait sync.WaitGroup
		errs, ids := make([]error, starts), make([]string, starts)
		for i := range starts {
			key := newKey(t)
			ids[i] = key.Public().ID
			s := service.New(worlds[i%len(worlds)].Store, worlds[0].Service.Log)
			wait.Go(func() { errs[i] = s.BindSigningKey(ctx, key) })
		}
		wait.Wait()
		winner := ""
		for i, err := range errs {
			if err == nil {
				if winner != "" {
					t.Error("two keys are active")
				}
				winner = ids[i]
			}
		}
		var other service.OtherKeyError
		for _, err := range errs {
			if err != nil && (!errors.As(err, &other) || other.Active != winner) {
				t.Errorf("%v, want the key %s", err, winner)
			}
		}
		keys, err := worlds[0].Store.SigningKeys(ctx)
		if err != nil || len(keys) != 1 || !keys[0].Active || keys[0].ID != winner {
			t.Errorf("%+v, %v", keys, err)
		}
	})
}

func newKey(t testing.TB) warranty.SigningKey {
	t.Helper()
	key, err := warranty.NewSigningKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestReplacedSigningKeys: a replaced key verifies what it signed, until it is revoked.
func TestReplacedSigningKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		made := shop.sells(warranty.CreateWarranty{})
		if _, err := w.take(kim, shop.prints(made.ID)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.VerifyDomain(ctx, shop.ID, "halden.example"); err != nil {
			t.Fatal(err)
		}
		path := "/verify/" + string(made.ReferenceNumber) + "/certificate"
		first, older, newer := w.Get(path, "").Body, *w.Service.SigningKey, newKey(t)
		w.write(func(tx *store.Tx) error { return tx.ReplaceSigningKey(newer.Public(), w.Clock.Now()) })
		running := w.Get(path, "").Body // this replica has not been restarted
		var other service.OtherKeyError
		if err := w.Service.BindSigningKey(ctx, older); !errors.As(err, &other) || other.RetiredAt == nil || other.Active != newer.Public().ID {
			t.Errorf("starting with the old key: %v", err)
		}
		if err := w.Service.BindSigningKey(ctx, newer); err != nil {
			t.Fatal(err)
		}
		keys := w.keys()
		equal(t, "the number of keys", len(keys.Keys), 2)
		for _, text := range []string{first, running, w.Get(path, "").Body} {
			if _, err := keys.Verify(text); err != nil {
				t.Error(err)
			}
		}
		w.write(func(tx *store.Tx) error { return tx.RevokeSigningKey(older.Public().ID, w.Clock.Now()) })
		if _, err := w.keys().Verify(first); err == nil {
			t.Error("valid after the key was revoked")
		}
		w.Service.SigningKey = &older // a replica that was not restarted
		equal(t, "a replica with a revoked key", w.Get(path, "").Code(), "unavailable")
		err := w.Store.Write(ctx, func(tx *store.Tx) error { return tx.RevokeSigningKey(newer.Public().ID, w.Clock.Now()) })
		if !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("revoking the active key: %v", err)
		}
	}, busy)
}
