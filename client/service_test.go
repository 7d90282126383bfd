package client_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"warranty.example/svc/client"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestClientAgainstTheService calls every operation of the real service over HTTP.
// servertest validates each response against the OpenAPI document.
func TestClientAgainstTheService(t *testing.T) {
	w := servertest.New(t, servertest.SQLite(t))
	ada := w.Verified("Ada")
	token, _ := w.Token(ada)
	c, err := client.New(w.HTTP.URL+"/api/v1", token, client.WithHTTPClient(w.Client))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()

	status, err := c.AuthStatus(ctx)
	if err != nil || status.User.Name != "Ada" || status.Token == nil || len(status.Scopes) != 4 {
		t.Fatalf("%+v %v", status, err)
	}
	made, err := c.CreateWarranty(ctx, draft)
	if err != nil || made.ID.IsZero() || made.Replayed() || made.Version != 1 {
		t.Fatalf("%+v %v", made, err)
	}
	key := "order-4711"
	keyed := draft
	keyed.IdempotencyKey = &key
	first, err1 := c.CreateWarranty(ctx, keyed)
	second, err2 := c.CreateWarranty(ctx, keyed)
	if err := errors.Join(err1, err2); err != nil || first.ID != second.ID || first.Replayed() || !second.Replayed() {
		t.Errorf("the same key: %v %v %v", first.ID, second.ID, err)
	}
	page, err := c.ListWarranties(ctx, warranty.ListWarranties{Paging: warranty.Paging{Page: 2, Limit: 1}})
	if err != nil || page.Pagination.Total != 2 || len(page.Data) != 1 || page.Data[0].ID != made.ID {
		t.Errorf("%+v %v", page, err)
	}
	void := warranty.Void
	changed, err := c.UpdateWarranty(ctx, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, Status: &void, IfMatch: made.ETag()})
	if err != nil || changed.Status != warranty.Void || changed.Version != 2 {
		t.Errorf("%+v %v", changed, err)
	}
	_, err = c.UpdateWarranty(ctx, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, Status: &void, IfMatch: made.ETag()})
	wantCode(t, err, warranty.PreconditionFailed)

	verified, err := c.VerifyWarranty(ctx, warranty.VerifyWarranty{Reference: string(first.ReferenceNumber)})
	if err != nil || verified.Issuer != nil || verified.Assurance != warranty.Unverified {
		t.Errorf("%+v %v", verified, err)
	}
	anonymous, err := client.New(w.HTTP.URL+"/api/v1", "")
	if err != nil {
		t.Fatal(err)
	}
	verified, err = anonymous.VerifyPublicly(ctx, warranty.VerifyWarranty{Reference: string(made.ReferenceNumber)})
	if err != nil || verified.Status != warranty.Void {
		t.Errorf("%+v %v", verified, err)
	}
	_, err = anonymous.AuthStatus(ctx)
	wantCode(t, err, warranty.MissingCredential)

	if claims, err := c.ListClaims(ctx, warranty.ListClaims{}); err != nil || claims.Data == nil || len(claims.Data) != 0 {
		t.Errorf("%+v %v", claims, err)
	}
	_, err = c.GetClaim(ctx, warranty.GetClaim{ID: warranty.ClaimKey{ID: made.ID}})
	wantCode(t, err, warranty.NotFound)
	if documents, err := c.ListDocuments(ctx, warranty.ListDocuments{Q: "invoice"}); err != nil ||
		len(documents.Data) != 0 {
		t.Errorf("%+v %v", documents, err)
	}
	_, err = c.GetDocument(ctx, warranty.GetDocument{ID: made.ID})
	wantCode(t, err, warranty.NotFound)
	if err := c.DeleteWarranty(ctx, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: made.ID}}); err != nil {
		t.Error(err)
	}
	_, err = c.GetWarranty(ctx, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: made.ID}})
	wantCode(t, err, warranty.NotFound)
	_, err = c.ListWarranties(ctx, warranty.ListWarranties{Paging: warranty.Paging{Limit: 1000}})
	wantCode(t, err, warranty.ValidationFailed)
}

func wantCode(t *testing.T, err error, code warranty.Code) {
	t.Helper()
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != code || refused.RequestID == "" {
		t.Errorf("got %v, want %s", err, code)
	}
}

// losing performs every request and loses the first response, as a network can.
type losing struct {
	inner http.RoundTripper
	lost  atomic.Int32
}

// RoundTrip loses the first response.
func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.inner.RoundTrip(r)
	if err == nil && l.lost.Add(1) == 1 {
		response.Body.Close()
		return nil, errors.New("the response was lost")
	}
	return response, err
}

func TestLostAnswerMakesOneRecord(t *testing.T) {
	w := servertest.New(t, servertest.SQLite(t))
	token, _ := w.Token(w.Person("Ada"))
	c, err := client.New(w.HTTP.URL+"/api/v1", token,
		client.WithHTTPClient(&http.Client{Transport: &losing{inner: http.DefaultTransport}}))
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateWarranty(t.Context(), draft)
	if err != nil || !made.Replayed() {
		t.Fatalf("%+v %v", made, err)
	}
	page, err := c.ListWarranties(t.Context(), warranty.ListWarranties{})
	if err != nil || page.Pagination.Total != 1 {
		t.Errorf("%d records, %v", page.Pagination.Total, err)
	}
}
