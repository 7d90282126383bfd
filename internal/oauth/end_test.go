package oauth_test

import (
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// TestRevocationIsImmediate ends connections in every way; no replica accepts them afterwards.
func TestRevocationIsImmediate(t *testing.T) {
	for what, end := range map[string]func(t *testing.T, w *servertest.World, p servertest.Person, a app){
		"revoked by the app": func(t *testing.T, w *servertest.World, _ servertest.Person, a app) {
			if r := post(t, w, "/oauth/revoke", "token", a.refresh, "client_id", a.client); r.status != 200 || r.body != "" {
				t.Errorf("%d %s", r.status, r.body)
			}
		},
		"access token revoked by the app": func(t *testing.T, w *servertest.World, _ servertest.Person, a app) {
			servertest.Equal(t, "status", post(t, w, "/oauth/revoke", "token", a.access,
				"token_type_hint", "refresh_token").status, 200)
		},
		"disconnected in the settings": func(t *testing.T, w *servertest.World, p servertest.Person, _ app) {
			disconnect(t, w, p)
		},
		"password reset": func(t *testing.T, w *servertest.World, p servertest.Person, _ app) {
			w.ResetPassword(t, p.Email, servertest.PasswordCanary+" reset")
		},
		"person disabled": func(t *testing.T, w *servertest.World, p servertest.Person, _ app) {
			if err := w.Service.DisableUser(t.Context(), p.Email); err != nil {
				t.Fatal(err)
			}
		},
		"revoked by the operator": func(t *testing.T, w *servertest.World, p servertest.Person, _ app) {
			list, err := w.Service.UserTokens(t.Context(), p.Email)
			if err != nil || len(list) != 1 || list[0].Name != "Atlas Assistant" {
				t.Fatalf("%v %v", list, err)
			}
			if err := w.Service.RevokeUserToken(t.Context(), p.Email, list[0].ID); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			servertest.EachReplicas(t, func(t *testing.T, worlds []*servertest.World) {
				w := worlds[0]
				olga, zoe := w.Verified("Olga"), w.Verified("Zoe")
				a, other := connect(t, w, olga), connect(t, w, zoe)
				for _, w := range worlds {
					works(t, w, "before", a.access, true)
				}
				end(t, worlds[len(worlds)-1], olga, a)
				for _, w := range worlds {
					works(t, w, "afterwards", a.access, false)
					denied(t, "refreshing afterwards", refresh(t, w, a), 400, "invalid_grant")
					works(t, w, "the app of another person", other.access, true)
				}
			})
		})
	}
	t.Run("scope taken away", func(t *testing.T) {
		servertest.EachReplicas(t, func(t *testing.T, worlds []*servertest.World) {
			olga := worlds[0].Verified("Olga")
			a := connect(t, worlds[0], olga)
			const create = `{"name":"create_warranty","arguments":{"product_name":"Kettle","start_date":"2026-01-01","end_date":"2027-01-01"}}`
			last := worlds[len(worlds)-1]
			for i, w := range worlds {
				servertest.Equal(t, "writing before", rpc(t, w, a.access, "tools/call", create).status, 200)
				if i == len(worlds)-1 {
					b := last.SignedIn(t, olga)
					p := b.Post("/settings/apps/"+appID(t, b), "account", olga.ID, "scope", "warranties:read")
					servertest.Equal(t, "changing", p.Status, 303)
				}
			}
			for _, w := range worlds {
				servertest.Equal(t, "writing afterwards", rpc(t, w, a.access, "tools/call", create).status, 403)
				works(t, w, "reading afterwards", a.access, true)
			}
		})
	})
	t.Run("not by others", func(t *testing.T) {
		w := servertest.NewSQLite(t)
		a := connect(t, w, w.Verified("Olga"))
		other := register(t, w, "Other", redirect)
		for _, pairs := range [][]string{{"token", a.refresh, "client_id", other}, {"token", "svr_wrong"}, {"token", "x", "token_type_hint", "y"}} {
			servertest.Equal(t, "status", post(t, w, "/oauth/revoke", pairs...).status, 200)
		}
		denied(t, "no token", post(t, w, "/oauth/revoke", "client_id", other), 400, "invalid_request")
		works(t, w, "afterwards", a.access, true)
	})
}

// appID returns the id of the newest app on the page of connected apps.
func appID(t testing.TB, b *servertest.Browser) string {
	t.Helper()
	_, rest, _ := strings.Cut(b.Get("/settings/apps").Body, `action="/settings/apps/`)
	id, _, _ := strings.Cut(rest, `"`)
	if len(id) != 36 {
		t.Fatalf("no app: %q", id)
	}
	return id
}

// disconnect disconnects the newest app of a person.
func disconnect(t testing.TB, w *servertest.World, p servertest.Person) {
	t.Helper()
	b := w.SignedIn(t, p)
	page := b.Post("/settings/apps/"+appID(t, b)+"/disconnect", "account", p.ID)
	servertest.Equal(t, "disconnecting", page.Location, "/settings/apps?done=app_disconnected")
}

// TestMembersAppsHaveTheirRole connects apps of members to an organization: the role counts with every request, and a
// removed member's apps end.
func TestMembersAppsHaveTheirRole(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*servertest.World) {
		w := worlds[0]
		ann, ivo := w.Verified("Ann"), w.Verified("Ivo")
		var shop struct{ ID string }
		w.Must(201, servertest.NewRequest("POST", "/api/organizations", ann.Session, servertest.Fields{"name": "Halden"})).Into(t, &shop)
		join(t, w, shop.ID, ann, ivo, "member")
		a := connectIn(t, w, ivo, shop.ID)
		const create = `{"name":"create_warranty","arguments":{"product_name":"Kettle","start_date":"2026-01-01","end_date":"2027-01-01"}}`
		writes := func(what string, yes bool) {
			t.Helper()
			for _, w := range worlds {
				r := rpc(t, w, a.access, "tools/call", create)
				if done := r.status == 200 && !strings.Contains(r.body, `"isError":true`); done != yes {
					t.Errorf("%s: %d %s", what, r.status, r.body)
				}
			}
		}
		writes("a member", true)
		servertest.Equal(t, "records of the organization", len(ids(t, w.Get("/api/v1/warranties", ann.Session, "X-Account", shop.ID))) > 0, true)
		servertest.Equal(t, "records of the person", len(ids(t, w.Get("/api/v1/warranties", ivo.Session))), 0)
		member := "/api/organizations/" + shop.ID + "/members/" + ivo.ID
		w.Must(200, servertest.NewRequest("PUT", member, ann.Session, servertest.Fields{"role": "viewer"}))
		writes("a viewer", false)
		works(t, w, "reading as a viewer", a.access, true)
		w.Must(204, servertest.NewRequest("DELETE", member+"?keep_tokens=true", ann.Session, nil))
		for _, w := range worlds {
			works(t, w, "a removed member", a.access, false)
			denied(t, "refreshing", refresh(t, w, a), 400, "invalid_grant")
		}
		join(t, w, shop.ID, ann, ivo, "admin")
		works(t, w, "the same person as a new member", a.access, false)
		a = connectIn(t, w, ivo, shop.ID)
		w.ResetPassword(t, ivo.Email, servertest.PasswordCanary+" reset")
		for _, w := range worlds {
			works(t, w, "after the password reset of the member", a.access, false)
		}
	}, servertest.Busy)
}

// join makes a person a member.
func join(t *testing.T, w *servertest.World, organization string, admin, p servertest.Person, role string) {
	t.Helper()
	w.Must(201, servertest.NewRequest("POST", "/api/organizations/"+organization+"/invitations", admin.Session,
		servertest.Fields{"email": p.Email, "role": role}))
	w.Must(200, servertest.NewRequest("POST", "/api/invitations/accept", p.Session, servertest.Fields{"code": w.MailedCode(p.Email)}))
}

// TestRefreshRacesRevocation refreshes while the connection is revoked: nothing works afterwards.
func TestRefreshRacesRevocation(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*servertest.World) {
		w := worlds[0]
		olga := w.Verified("Olga")
		for range 4 {
			a := connect(t, w, olga)
			issued := make([]reply, 8)
			testenv.Together(9, func(i int) {
				w := worlds[i%len(worlds)]
				if i == 8 {
					servertest.Equal(t, "revoking", post(t, w, "/oauth/revoke", "token", a.refresh, "client_id", a.client).status, 200)
					return
				}
				issued[i] = refresh(t, w, a)
			})
			for _, r := range issued {
				switch {
				case r.status == http.StatusOK:
					works(t, w, "an access token of the race", r.AccessToken, false)
					denied(t, "a refresh token of the race", refresh(t, w, app{client: a.client, refresh: r.RefreshToken}), 400, "invalid_grant")
				case r.status != 400:
					t.Errorf("%d %s", r.status, r.body)
				}
			}
		}
	})
}

// TestSecretsAreStoredAsHashes looks for everything secret in the database, whole and in part (RFC 6749 10.3, 10.4; RFC
// 7636 4.4).
func TestSecretsAreStoredAsHashes(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		olga := w.Verified("Olga")
		b := w.SignedIn(t, olga)
		client := register(t, w, "Atlas", redirect)
		waiting := requestID(t, b.Get(authorizePath(client)))
		unused := allow(t, b, authorizePath(client), redirect, "account", olga.ID, "scope", "warranties:read")
		code := allow(t, b, authorizePath(client), redirect, "account", olga.ID, "scope", "warranties:read")
		first := exchange(t, w, client, code)
		second := refresh(t, w, app{client: client, refresh: first.RefreshToken})
		works(t, w, "the access token", second.AccessToken, true)
		tables := map[string]string{}
		for _, table := range w.Tables() {
			tables[table] = strings.Join(w.Rows(`SELECT * FROM `+table), "\n")
		}
		if !strings.Contains(tables["oauth_clients"], client) {
			t.Fatal("the tables are not read")
		}
		for what, secret := range map[string]string{
			"request": waiting, "unused code": unused, "used code": code, "verifier": verifier, "access token": first.AccessToken,
			"rotated refresh token": first.RefreshToken, "second access token": second.AccessToken, "refresh token": second.RefreshToken,
		} {
			if len(secret) < 20 {
				t.Fatalf("the %s is %q", what, secret)
			}
			for name, table := range tables {
				if strings.Contains(table, secret[len(secret)-12:]) {
					t.Errorf("the %s is in the table %s", what, name)
				}
			}
		}
	})
}

// TestEndpointsAreUnderTheIPThrottle expects the limit per network before anything is looked up (RFC 7009 5).
func TestEndpointsAreUnderTheIPThrottle(t *testing.T) {
	w := servertest.New(t, servertest.SQLite(t), func(s *server.Server) { s.IPRate = 3 })
	for range 3 {
		servertest.Equal(t, "status", post(t, w, "/oauth/revoke", "token", "svr_guess").status, 200)
	}
	for _, path := range []string{"/oauth/revoke", "/oauth/token", "/oauth/register", "/.well-known/oauth-authorization-server"} {
		r := post(t, w, path, "token", "svr_guess")
		if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

// TestUnverifiedPeopleVerifyFirst sends people without a verified address to the verification.
func TestUnverifiedPeopleVerifyFirst(t *testing.T) {
	w := servertest.NewSQLite(t, func(s *server.Server) { s.Service.RequireVerified = true })
	p := w.SignedIn(t, w.Person("Olga")).Get(authorizePath(register(t, w, "Atlas", redirect)))
	if p.Status != 303 || !strings.Contains(p.Location, "/verify-email?next=%2Foauth%2Fauthorize") {
		t.Errorf("%d %q", p.Status, p.Location)
	}
}

// TestOffWithoutHTTPS is no authorization server on an address that others can read along.
func TestOffWithoutHTTPS(t *testing.T) {
	w := servertest.NewSQLite(t, func(s *server.Server) { s.PublicURL, s.Service.PublicURL = "http://svc.example", "http://svc.example" })
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource", "/oauth/authorize"} {
		servertest.Equal(t, path, call(t, w, "GET", path, "", "").status, 404)
	}
	servertest.Equal(t, "token", call(t, w, "POST", "/oauth/token", "", "").status, 404)
}

// TestConnectedApps lists, changes and disconnects apps on the page of the settings.
func TestConnectedApps(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		olga, eve := w.Verified("Olga"), w.Verified("Eve")
		a := connect(t, w, olga, "warranties:read", "warranties:write")
		b, other := w.SignedIn(t, olga), w.SignedIn(t, eve)
		id := appID(t, b)
		if page := b.Get("/settings/apps").Body; !strings.Contains(page, "Atlas Assistant") || !strings.Contains(page, "atlas-assistant.example") {
			t.Fatalf("the page: %s", page)
		}
		if page := other.Get("/settings/apps").Body; strings.Contains(page, "Atlas") {
			t.Error("others see the app")
		}
		servertest.Equal(t, "disconnecting as another person", other.Post("/settings/apps/"+id+"/disconnect", "account", eve.ID).Status, 404)
		servertest.Equal(t, "changing as another person", other.Post("/settings/apps/"+id, "account", eve.ID, "scope", "claims:read").Status, 404)
		servertest.Equal(t, "no scope", b.Post("/settings/apps/"+id, "account", olga.ID).Status, 422)
		// An integration token cannot be made of it.
		servertest.Equal(t, "rotating", w.Send("POST", "/api/integration-tokens/"+id+"/rotate", olga.Session, nil).Status, 404)

		const create = `{"name":"create_warranty","arguments":{"product_name":"Kettle","start_date":"2026-01-01","end_date":"2027-01-01"}}`
		if r := rpc(t, w, a.access, "tools/call", create); r.status != 200 || strings.Contains(r.body, `"isError":true`) {
			t.Fatalf("writing: %d %s", r.status, r.body)
		}
		history := ids(t, w.Get("/api/v1/warranties", olga.Session))
		if got := w.Get("/api/warranties/"+history[0]+"/history", olga.Session).Body; !strings.Contains(got, `"Atlas Assistant"`) {
			t.Errorf("the history does not name the app: %s", got)
		}
		servertest.Equal(t, "changing", b.Post("/settings/apps/"+id, "account", olga.ID, "scope", "claims:read").Location, "/settings/apps?done=app_updated")
		servertest.Equal(t, "writing afterwards", rpc(t, w, a.access, "tools/call", create).status, 403)
		if r := refresh(t, w, a); r.status != 200 || r.Scope != "claims:read" {
			t.Errorf("refreshing: %d %s", r.status, r.body)
		}
		servertest.Equal(t, "disconnecting", b.Post("/settings/apps/"+id+"/disconnect", "account", olga.ID).Location, "/settings/apps?done=app_disconnected")
		works(t, w, "afterwards", a.access, false)
		if page := b.Get("/settings/apps").Body; strings.Contains(page, "Atlas") || !strings.Contains(page, resource) {
			t.Error("the app is still there")
		}
	})
}
