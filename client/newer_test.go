package client_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// newer has responses of a service that is newer than this client.
var newer = map[string]string{
	"/api/v1/warranties": `{"data":[{"id":"01935b2e-7c4a-7def-8123-456789abcdef","reference_number":"WR-1",
		"product_name":"Kettle","start_date":"2026-01-01","end_date":"2027-01-01","status":"frozen",
		"roles":["owner","auditor"],"colour":{"r":1},"created_at":"2026-01-01T00:00:00Z",
		"updated_at":"2026-01-01T00:00:00Z"}],
		"pagination":{"page":1,"limit":20,"total":1,"total_pages":1,"next":"x"},"as_of":"y"}`,
	"/api/v1/claims": `{"data":[{"id":"01935b2e-7c4a-7def-8123-456789abcdef","claim_number":"CL-1",
		"warranty_id":"01935b2e-7c4a-7def-8123-456789abcdef","warranty":{"id":"01935b2e-7c4a-7def-8123-456789abcdef",
		"reference_number":"WR-1","product_name":"Kettle"},"type":"loan","description":"d",
		"incident_date":"2026-01-01","status":"escalated","resolution":"voucher",
		"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}],
		"pagination":{"page":1,"limit":20,"total":1,"total_pages":1}}`,
	"/api/v1/documents": `{"data":[{"id":"01935b2e-7c4a-7def-8123-456789abcdef",
		"warranty_id":"01935b2e-7c4a-7def-8123-456789abcdef","file_name":"f","type":"hologram",
		"warranty":{"id":"01935b2e-7c4a-7def-8123-456789abcdef","reference_number":"WR-1","product_name":"Kettle"},
		"content_type":"model/gltf","size_bytes":1,"sha256":"","created_at":"2026-01-01T00:00:00Z"}],
		"pagination":{"page":1,"limit":20,"total":1,"total_pages":1}}`,
	"/api/v1/auth/status": `{"data":{"user":{"id":"01935b2e-7c4a-7def-8123-456789abcdef","name":"Ada",
		"email":"a@b.example","email_verified":true,"created_at":"2026-01-01T00:00:00Z"},"credential":"oauth",
		"token":null,"scopes":["warranties:read","reports:read"],"rate_limit_per_minute":100,
		"expires_at":"2027-01-01T00:00:00Z"}}`,
}

func newerService(w http.ResponseWriter, r *http.Request) {
	if text, ok := newer[r.URL.Path]; ok {
		body(200, "application/json", text)(w, r)
		return
	}
	body(418, "application/problem+json", `{"type":"x","title":"Teapot","status":418,"code":"short_and_stout",
		"detail":"Use a kettle.","request_id":"r-1","handle":"left",
		"errors":[{"field":"spout","code":"clogged","message":"Clean it."}]}`)(w, r)
}

// TestNewerServiceIsUnderstood (C8): statuses, roles, types, scopes, fields and codes
// that this client does not know are kept.
func TestNewerServiceIsUnderstood(t *testing.T) {
	c := serve(t, newerService).client(t)
	ctx := t.Context()
	warranties, err := c.ListWarranties(ctx, warranty.ListWarranties{})
	if err != nil {
		t.Fatal(err)
	}
	w := warranties.Data[0]
	if w.Status != "frozen" || !slices.Equal(w.Roles.Names(), []string{"owner", "auditor"}) ||
		!w.Roles.Has(warranty.Owner) {
		t.Errorf("status %s, roles %v", w.Status, w.Roles.Names())
	}
	if text, err := api.AppendJSON(nil, w); err != nil || !strings.Contains(string(text), `"roles":["owner","auditor"]`) {
		t.Errorf("written again: %s %v", text, err)
	}
	claims, err := c.ListClaims(ctx, warranty.ListClaims{})
	if err != nil {
		t.Fatal(err)
	}
	if got := claims.Data[0]; got.Type != "loan" || got.Status != "escalated" || got.Resolution == nil ||
		*got.Resolution != "voucher" {
		t.Errorf("claim %+v", got)
	}
	documents, err := c.ListDocuments(ctx, warranty.ListDocuments{})
	if err != nil || documents.Data[0].Type != "hologram" {
		t.Errorf("document %+v %v", documents, err)
	}
	status, err := c.AuthStatus(ctx)
	if err != nil || status.Credential != "oauth" || !slices.Contains(status.Scopes, "reports:read") {
		t.Errorf("status %+v %v", status, err)
	}
	_, err = c.GetWarranty(ctx, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "short_and_stout" || refused.Status != 418 ||
		refused.Errors[0].Code != "clogged" {
		t.Errorf("%v", err)
	}
	// Filters accept values that this client does not know.
	if _, err := c.ListWarranties(ctx, warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Status: "frozen"}}); err != nil {
		t.Error(err)
	}
}
