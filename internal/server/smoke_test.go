package server_test

import (
	"testing"

	"warranty.example/svc/internal/servertest"
)

func TestRecordsLiveAndDie(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		owner, seller := w.Verified("Olga"), w.Person("Sami")
		key, _ := w.Token(owner)
		made := w.Warranty(key, map[string]any{"seller_email": seller.Email, "category": "Kitchen"})
		path := "/api/v1/warranties/" + made.ID
		w.Must(200, servertest.Request{Method: "GET", Path: path, Secret: key})
		w.Must(404, servertest.Request{Method: "GET", Path: path, Secret: seller.Session})
		w.Must(200, servertest.Request{Method: "POST", Path: "/api/auth/verify-email", Body: map[string]string{"code": w.MailedCode(seller.Email)}})
		w.Must(200, servertest.Request{Method: "GET", Path: path, Secret: seller.Session})
		w.Must(200, servertest.Request{Method: "GET", Path: "/api/v1/warranties?status=active&category=KITCHEN&q=kett&role=seller&expiring_within_days=3650", Secret: seller.Session})
		w.Must(403, servertest.Request{Method: "PUT", Path: path, Secret: seller.Session, Body: map[string]any{"product_name": "x"}})
		w.Must(200, servertest.Request{Method: "PUT", Path: path, Secret: seller.Session, Body: map[string]any{"status": "void"}})
		w.Must(200, servertest.Request{Method: "GET", Path: "/verify/" + made.ReferenceNumber})
		w.Must(200, servertest.Request{Method: "GET", Path: "/api/v1/claims", Secret: key})
		w.Must(200, servertest.Request{Method: "GET", Path: "/api/v1/documents?q=a", Secret: key})
		w.Must(200, servertest.Request{Method: "GET", Path: "/api/integration-tokens", Secret: owner.Session})
		w.Must(204, servertest.Request{Method: "DELETE", Path: path, Secret: key})
		w.Must(404, servertest.Request{Method: "GET", Path: "/verify/" + made.ReferenceNumber})
	})
}
