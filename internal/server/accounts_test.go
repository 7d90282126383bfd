package server_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// shop creates an organization and returns its id.
func shop(w *world, admin servertest.Person) string {
	w.T.Helper()
	var o struct{ ID string }
	w.Must(201, made("POST", "/api/organizations", admin.Session, fields{"name": "Halden"})).Into(w.T, &o)
	return o.ID
}

// TestXAccount checks the header on REST and MCP, with sessions and tokens.
func TestXAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, eve := w.Verified("Ann"), w.Verified("Eve")
		id, others := shop(w, ann), shop(w, eve)
		own := w.Warranty(ann.Session, nil)
		var record servertest.Record
		body := fields{"product_name": "Pan", "start_date": "2020-01-01", "end_date": "2099-12-31"}
		w.Must(201, servertest.NewRequest("POST", "/api/v1/warranties", ann.Session, body, "X-Account", id)).Into(t, &record)
		var token struct{ Secret string }
		w.Must(201, servertest.NewRequest("POST", "/api/integration-tokens", ann.Session,
			fields{"name": "till", "scopes": []string{"warranties:read", "warranties:write"}}, "X-Account", id)).Into(t, &token)
		mcpList := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_warranties","arguments":{}}}`
		for _, c := range []struct {
			what, secret, account string
			sees                  string // the record in lists, or the code
		}{
			{"a session", ann.Session, "", own.ID},
			{"a session for its own account", ann.Session, accountID(t, w, ann), own.ID},
			{"a session for the organization", ann.Session, id, record.ID},
			{"a session for the organization, in capitals", ann.Session, strings.ToUpper(id), record.ID},
			{"a session for another organization", ann.Session, others, "account_not_allowed"},
			{"a session for another person", ann.Session, accountID(t, w, eve), "account_not_allowed"},
			{"a session for an unknown account", ann.Session, own.ID, "account_not_allowed"},
			{"a session for a name", ann.Session, "Halden", "account_not_allowed"},
			{"a stranger's session", eve.Session, id, "account_not_allowed"},
			{"a token", token.Secret, "", record.ID},
			{"a token for its account", token.Secret, id, record.ID},
			{"a token for the account of its maker", token.Secret, accountID(t, w, ann), "account_not_allowed"},
			{"a token for another organization", token.Secret, others, "account_not_allowed"},
		} {
			var headers []string
			if c.account != "" {
				headers = []string{"X-Account", c.account}
			}
			for door, a := range map[string]servertest.Answer{
				"REST": w.Get("/api/v1/warranties", c.secret, headers...),
				"MCP":  w.Do(servertest.NewRequest("POST", "/api/mcp", c.secret, mcpList, append(headers, "Content-Type", "application/json")...)),
			} {
				if !strings.Contains(a.Body, c.sees) || (c.sees == "account_not_allowed") != (a.Status == 403) {
					t.Errorf("%s, by %s: %d %s", c.what, door, a.Status, a.Body)
				}
				if c.sees != own.ID && strings.Contains(a.Body, own.ID) || c.sees != record.ID && strings.Contains(a.Body, record.ID) {
					t.Errorf("%s, by %s, sees another account: %s", c.what, door, a.Body)
				}
			}
		}
		twice := servertest.NewRequest("GET", "/api/v1/warranties", ann.Session, nil)
		twice.Header = map[string]string{"X-Account": id + ", " + id}
		refused(t, "two accounts in a header", w.Do(twice), warranty.AccountNotAllowed)
		empty := servertest.NewRequest("GET", "/api/v1/warranties", ann.Session, nil, "X-Account", " ")
		refused(t, "an empty header", w.Do(empty), warranty.AccountNotAllowed)
		// The records of an account are not there for the other.
		refused(t, "a record of the organization", w.Get("/api/v1/warranties/"+record.ID, ann.Session), warranty.NotFound)
		refused(t, "an own record", w.Get("/api/v1/warranties/"+own.ID, ann.Session, "X-Account", id), warranty.NotFound)
	})
}

func accountID(t *testing.T, w *world, p servertest.Person) string {
	t.Helper()
	var status struct{ Account struct{ ID string } }
	w.Must(200, made("GET", "/api/v1/auth/status", p.Session, nil)).Into(t, &status)
	return status.Account.ID
}

// TestPeopleHaveOneWindow: one window for a person, whichever account they act for, and one for each token.
func TestPeopleHaveOneWindow(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, _ *stoppedClock) {
		ann, ivo := w.Verified("Ann"), w.Verified("Ivo")
		id := shop(w, ann)
		w.Must(201, made("POST", "/api/organizations/"+id+"/invitations", ann.Session, fields{"email": ivo.Email, "role": "member"}))
		w.Must(200, made("POST", "/api/invitations/accept", ivo.Session, fields{"code": w.MailedCode(ivo.Email)}))
		left := func(what, secret string, n int64, headers ...string) {
			t.Helper()
			equal(t, what, number(t, w.Get(list, secret, headers...).Header, "X-Ratelimit-Remaining"), n)
		}
		var token struct{ Secret string }
		w.Must(201, servertest.NewRequest("POST", "/api/integration-tokens", ann.Session,
			fields{"name": "till", "scopes": []string{"warranties:read"}, "rate_limit_per_minute": 5}, "X-Account", id)).Into(t, &token)
		again := w.SignIn(ann.Email, ann.Password)
		own := number(t, w.Get(list, ann.Session).Header, "X-Ratelimit-Remaining")
		left("Ann for the organization", ann.Session, own-1, "X-Account", id)
		left("another session of Ann for the organization", again, own-2, "X-Account", id)
		theirs := number(t, w.Get(list, ivo.Session).Header, "X-Ratelimit-Remaining")
		left("Ivo for the organization", ivo.Session, theirs-1, "X-Account", id)
		left("the organization's token", token.Secret, 4)
		left("the organization's token with the header", token.Secret, 3, "X-Account", id)
		left("Ann", again, own-3)
		left("Ann for an account that is not hers", ann.Session, own-4, "X-Account", "01935b2e-7c4a-7def-8123-456789abcdef")
		for range own - 4 {
			w.Get(list, ann.Session, "X-Account", id)
		}
		refused(t, "Ann for the organization", w.Get(list, again, "X-Account", id), warranty.RateLimited)
		refused(t, "Ann for herself", w.Get(list, again), warranty.RateLimited)
		equal(t, "Ivo for the organization", w.Get(list, ivo.Session, "X-Account", id).Status, 200)
	}, func(s *server.Server) { s.Service.RateLimit = 12 })
}
