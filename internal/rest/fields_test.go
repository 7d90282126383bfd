package rest_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestFieldsOfRecords selects fields of lists and single records. Headers and pagination
// stay, and unknown names are rejected.
func TestFieldsOfRecords(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		record := w.Warranty(owner.Session, fields{"serial_number": "SN-1"})
		w.Warranty(owner.Session, nil)
		claim := w.Claim(owner.Session, record.ID)
		for _, c := range []struct{ path, fields, want string }{
			{"/warranties/" + record.ID, "serial_number,id", `{"id":"` + record.ID + `","serial_number":"SN-1"}`},
			{"/warranties/" + record.ID, "supplier", `{"supplier":null}`},
			{"/warranties?limit=1&page=2", "serial_number,id", `[{"id":"` + record.ID + `","serial_number":"SN-1"}]`},
			{"/warranties?limit=1&page=3", "id", `[]`},
			{"/claims/" + claim, "status,warranty_id", `{"warranty_id":"` + record.ID + `","status":"submitted"}`},
			{"/claims", "status", `[{"status":"submitted"}]`},
			{"/documents", "file_name", `[]`},
		} {
			path := "/api/v1" + c.path
			whole := w.Get(path, owner.Session)
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			got := w.Get(path+separator+"fields="+c.fields, owner.Session)
			var part, all struct{ Data, Pagination json.RawMessage }
			if err := errors.Join(json.Unmarshal([]byte(got.Body), &part), json.Unmarshal([]byte(whole.Body), &all)); err != nil {
				t.Fatal(err, got.Body)
			}
			equal(t, c.path+" with "+c.fields, string(part.Data), c.want)
			equal(t, c.path+": pagination", string(part.Pagination), string(all.Pagination))
			equal(t, c.path+": ETag", got.Header.Get("ETag"), whole.Header.Get("ETag"))
			equal(t, c.path+": total", got.Header.Get("X-Total-Count"), whole.Header.Get("X-Total-Count"))
			if link := got.Header.Get("Link"); link != "" && !strings.Contains(link, "fields="+strings.ReplaceAll(c.fields, ",", "%2C")) {
				t.Errorf("%s: Link %s does not keep the fields", c.path, link)
			}
			head := w.Send("HEAD", path+separator+"fields="+c.fields, owner.Session, nil)
			equal(t, c.path+": HEAD", head.Header.Get("Content-Length"), got.Header.Get("Content-Length"))
		}
		for _, path := range []string{"/warranties", "/warranties/" + record.ID, "/claims", "/claims/" + claim, "/documents"} {
			for _, wrong := range []string{"id,colour", "id,", "standing"} {
				a := w.Get("/api/v1"+path+"?fields="+wrong, owner.Session)
				refused(t, path+" with "+wrong, a, warranty.ValidationFailed)
				name := cmp.Or(wrong[strings.LastIndex(wrong, ",")+1:], "(empty)")
				e := servertest.ProblemOf(t, a).Errors[0]
				if e.Field != "fields" || !strings.HasPrefix(e.Message, "Unknown field: "+name+".") {
					t.Errorf("%s with %s: %+v", path, wrong, e)
				}
			}
		}
	})
}
