package service_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

const (
	accountNotAllowed = "403 account_not_allowed"
	inUse             = "409 in_use"
)

// members is a row for an organization of which the owner of the record is admin, its issuer a member and
// its seller a viewer.
func members(r row, admin, member, viewer string) row {
	r.sessionOnly = true
	r.owner, r.issuer, r.seller, r.stranger = admin, member, viewer, notFound
	return r
}

// admins is a row for what only admins may do.
func admins(r row, answer string) row { return members(r, answer, roleNotAllowed, roleNotAllowed) }

// organizationRows are the rows of the operations on organizations.
var organizationRows = []row{
	allRoles(row{operation: "organizations.list", sessionOnly: true, request: get("/api/organizations")}, ok),
	allRoles(row{
		operation:   "organizations.create",
		sessionOnly: true,
		request:     send("POST", "/api/organizations", fields{"name": "New", "website": "shop.example"}),
	}, created),
	members(row{operation: "organizations.get", request: get("/api/organizations/{organization}")}, ok, ok, ok),
	admins(row{
		operation: "organizations.update",
		variant:   "profile",
		request:   send("PUT", "/api/organizations/{organization}", fields{"name": "Renamed"}),
	}, ok),
	members(row{
		operation: "organizations.update",
		variant:   "own emails",
		request:   send("PUT", "/api/organizations/{organization}", fields{"mail_claims": true}),
	}, ok, ok, ok),
	admins(row{
		operation: "organizations.delete",
		request:   send("DELETE", "/api/organizations/{organization}", nil),
	}, gone),
	admins(row{
		operation: "organizations.restore",
		request:   send("POST", "/api/organizations/{organization}/restore", nil),
	}, ok),
	members(row{operation: "members.list", request: get("/api/organizations/{organization}/members")}, ok, ok, ok),
	admins(row{
		operation: "members.update",
		request:   send("PUT", "/api/organizations/{organization}/members/{another member}", fields{"role": "viewer"}),
	}, ok),
	admins(row{
		operation: "members.remove",
		request:   send("DELETE", "/api/organizations/{organization}/members/{another member}", nil),
	}, gone),
	members(row{operation: "invitations.list", request: get("/api/organizations/{organization}/invitations")}, ok, ok, ok),
	admins(row{
		operation: "invitations.create",
		request: send("POST", "/api/organizations/{organization}/invitations",
			fields{"email": "{new}", "role": "member"}),
	}, created),
	admins(row{
		operation: "invitations.cancel",
		request:   send("DELETE", "/api/organizations/{organization}/invitations/{invitation}", nil),
	}, gone),
	allRoles(row{
		operation:   "invitations.accept",
		variant:     "for another address",
		sessionOnly: true,
		request:     send("POST", "/api/invitations/accept", fields{"code": "{invitation code}"}),
	}, roleNotAllowed),
	members(row{operation: "addresses.list", request: get("/api/organizations/{organization}/addresses")}, ok, ok, ok),
	admins(row{
		operation: "addresses.add",
		request:   send("POST", "/api/organizations/{organization}/addresses", fields{"email": "{new}"}),
	}, accepted),
	{
		operation:   "addresses.verify",
		sessionOnly: true,
		request:     send("POST", "/api/addresses/verify", fields{"code": "{address code}"}),
		owner:       ok,
		issuer:      roleNotAllowed,
		seller:      roleNotAllowed,
		stranger:    othersCode,
	},
	admins(row{
		operation: "addresses.remove",
		request:   send("DELETE", "/api/organizations/{organization}/addresses/{address}", nil),
	}, gone),
	members(row{operation: "printed_codes.list", request: get("/api/organizations/{organization}/printed-codes")}, ok, ok, ok),
	admins(row{
		operation: "printed_codes.end",
		request:   send("DELETE", "/api/organizations/{organization}/printed-codes/{another member}", nil),
	}, gone),
	members(row{operation: "domains.list", request: get("/api/organizations/{organization}/domains")}, ok, ok, ok),
	admins(row{
		operation: "domains.add",
		request:   send("POST", "/api/organizations/{organization}/domains", fields{"domain": "halden.example"}),
	}, created),
	admins(row{
		operation: "domains.check",
		request:   send("POST", "/api/organizations/{organization}/domains/{domain}/check", nil),
	}, ok),
	admins(row{
		operation: "domains.remove",
		request:   send("DELETE", "/api/organizations/{organization}/domains/{domain}", nil),
	}, gone),
	members(row{operation: "brand.get", request: get("/api/organizations/{organization}/brand")}, ok, ok, ok),
	admins(row{
		operation: "brand.update",
		request:   send("PUT", "/api/organizations/{organization}/brand", fields{"color": ""}),
	}, ok),
	allRoles(row{operation: "customers.list", scope: warranty.WarrantiesRead, request: get("/api/v1/customers")}, ok),
	owners(row{operation: "customers.get", scope: warranty.WarrantiesRead, request: get("/api/v1/customers/{customer}")}, ok),
	owners(row{operation: "customers.card", sessionOnly: true, request: get("/api/customers/{customer}")}, ok),
	allRoles(row{
		operation:    "customers.add",
		sessionOnly:  true,
		request:      send("POST", "/api/customers", fields{"name": "Nora Berg", "email": "nora.berg@post.example"}),
		organization: created,
	}, roleNotAllowed),
	owners(row{
		operation:   "customers.update",
		sessionOnly: true,
		request:     send("PUT", "/api/customers/{customer}", fields{"note": "Call after 17:00."}),
	}, ok),
	owners(row{
		operation:   "customers.merge",
		sessionOnly: true,
		request: send("POST", "/api/customers/merge",
			fields{"into_id": "{second customer}", "from_id": "{third customer}"}),
	}, ok),
	owners(row{
		operation:   "customers.unmerge",
		sessionOnly: true,
		request:     send("POST", "/api/customers/{merged customer}/unmerge", nil),
	}, ok),
	allRoles(row{operation: "products.list", scope: warranty.WarrantiesRead, request: get("/api/v1/products")}, ok),
	allRoles(row{
		operation:    "products.create",
		sessionOnly:  true,
		request:      send("POST", "/api/products", fields{"name": "Hob", "length_months": 24}),
		organization: created,
	}, roleNotAllowed),
	owners(row{
		operation: "products.get", scope: warranty.WarrantiesRead, request: get("/api/v1/products/{product}"),
	}, ok),
	owners(row{
		operation:   "products.update",
		sessionOnly: true,
		request:     send("PUT", "/api/products/{product}", fields{"length_months": 36}),
	}, ok),
	owners(row{
		operation:   "products.delete",
		sessionOnly: true,
		request:     send("DELETE", "/api/products/{product}", nil),
	}, gone),
	{
		operation:   "account.convert",
		sessionOnly: true,
		request: send("POST", "/api/account/organization",
			fields{"organization_name": "Shop", "name": "Nora", "email": "{new}", "password": servertest.Password}),
		owner:      inUse,
		issuer:     inUse,
		seller:     inUse,
		stranger:   accepted,
		unverified: "403 email_not_verified",
	},
	allRoles(row{
		operation: "account.cancel_conversion",
		variant:   "with another code",
		public:    true,
		request:   send("POST", "/api/account/organization/cancel", fields{"code": "{address code}"}),
	}, othersCode),
	allRoles(row{
		operation:   "account.confirm_conversion",
		variant:     "with another code",
		sessionOnly: true,
		request:     send("POST", "/api/account/organization/confirm", fields{"code": "{address code}"}),
	}, othersCode),
}

// addOrganization adds an organization to the stage: its admin is the owner of the record, a member its
// issuer, a viewer its seller, unless the seller's address is not verified.
func (s *stage) addOrganization() {
	s.T.Helper()
	now := s.Clock.Now().UTC().Truncate(time.Microsecond)
	o := warranty.Organization{ID: s.Service.NewID(), Name: "Organization", CreatedAt: now}
	invitation := warranty.Invitation{
		ID: s.Service.NewID(), Email: "invited@people.example", Role: warranty.Member, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	address := warranty.Address{ID: s.Service.NewID(), Email: "info@organization.example", VerifiedAt: now}
	invitationCode, addressCode := s.newCode(), s.newCode()
	s.write(func(tx *store.Tx) error {
		if err := tx.InsertOrganization(o, true); err != nil {
			return err
		}
		for role, people := range map[warranty.MemberRole][]person{
			warranty.Admin: {s.ownerIs}, warranty.Member: {s.issuerIs, s.bystander}, warranty.Viewer: {s.sellerIs},
		} {
			for _, p := range people {
				if !p.User.EmailVerified {
					continue
				}
				if err := tx.InsertMember(o.ID, p.User.ID, role, warranty.MailChoices{}, now); err != nil {
					return err
				}
			}
		}
		if err := tx.InsertInvitation(o.ID, s.ownerIs.User.ID, invitation, warranty.HashCode(invitationCode)); err != nil {
			return err
		}
		if err := tx.InsertAddress(o.ID, address); err != nil {
			return err
		}
		if err := tx.InsertDomain(o.ID, warranty.Domain{ID: address.ID, Domain: "organization.example", CreatedAt: now}, "x"); err != nil {
			return err
		}
		code := store.AddressCode{Account: o.ID, Email: "service@organization.example", Expires: now.Add(time.Hour)}
		return tx.InsertAddressCode(code, warranty.HashCode(addressCode))
	})
	s.names["organization"], s.names["another member"] = o.ID.String(), s.bystander.User.ID.String()
	s.names["invitation"], s.names["invitation code"] = invitation.ID.String(), invitationCode
	s.names["domain"] = address.ID.String()
	s.names["address"], s.names["address code"] = address.ID.String(), addressCode
}

// organize makes the accounts of the owner, the issuer, the seller and the stranger organizations, each with
// members in every role.
func (s *stage) organize() {
	s.T.Helper()
	now := s.Clock.Now().UTC().Truncate(time.Microsecond)
	s.staff = map[warranty.ID]map[warranty.MemberRole]person{}
	for _, account := range []person{s.ownerIs, s.issuerIs, s.sellerIs, s.strangerIs} {
		id := account.User.ID
		s.staff[id] = map[warranty.MemberRole]person{}
		o := warranty.Organization{ID: id, Name: account.User.Name}
		address := warranty.Address{ID: s.Service.NewID(), Email: account.User.Email, VerifiedAt: now}
		s.write(func(tx *store.Tx) error { return tx.ConvertUser(o, address) })
		for _, role := range []warranty.MemberRole{warranty.Admin, warranty.Member, warranty.Viewer, removed} {
			p := s.person("Staff", true)
			s.staff[id][role] = p
			if role != removed {
				s.write(func(tx *store.Tx) error {
					return tx.InsertMember(id, p.User.ID, role, warranty.MailChoices{}, now)
				})
			}
		}
	}
}

// removed stands for someone who is not a member.
const removed warranty.MemberRole = "removed"

// actors are the callers of an organization that has a role on the record.
func actors() (list []caller) {
	for _, of := range []struct {
		name   string
		who    func(*stage) person
		answer func(row) string
	}{
		{"the owner", theOwner, func(r row) string { return r.owner }},
		{"the issuer", theIssuer, func(r row) string { return cmp.Or(r.business, r.issuer) }},
		{"the seller", theSeller, func(r row) string { return cmp.Or(r.business, r.seller) }},
		{"a stranger", theStranger, func(r row) string { return r.stranger }},
	} {
		for _, role := range []warranty.MemberRole{warranty.Admin, warranty.Member, warranty.Viewer, removed} {
			list = append(list, caller{
				name:    of.name + ", an organization, by its " + role.String(),
				outside: of.name == "a stranger" || role == removed,
				account: of.who,
				secret: func(s *stage, _ row) (string, func()) {
					return s.session(s.staff[of.who(s).User.ID][role].User, time.Hour).session, nil
				},
				expected: func(r row) string { return r.member(role, of.answer(r)) },
			})
		}
		list = append(list, caller{
			name:     of.name + ", an organization, by its token",
			outside:  of.name == "a stranger",
			account:  of.who,
			secret:   byToken(of.who, time.Hour, false),
			expected: func(r row) string { return r.token(cmp.Or(r.organization, of.answer(r))) },
		}, caller{
			name:    of.name + ", an organization, by the token of another",
			outside: true,
			account: of.who,
			secret: func(s *stage, _ row) (string, func()) {
				key, _ := s.token(s.bystander.User, warranty.AllScopes, time.Hour, false)
				return key, nil
			},
			expected: func(r row) string { return r.unlessPublic(accountNotAllowed) },
		})
	}
	return list
}

// member is the response to a member of an organization whose role on the record gets an answer.
func (r row) member(role warranty.MemberRole, answer string) string {
	op := r.spec()
	answer = cmp.Or(r.organization, answer)
	writes := op == nil && r.operation != "documents.download" || op != nil && op.Method != "GET" && !op.ReadOnly
	switch {
	case r.public:
		return r.owner
	case role == removed:
		return accountNotAllowed
	case op != nil && !op.ActsForAccount() || !writes || r.operation == "claims.mute": // about the person, or a read
		return answer
	case role == warranty.Viewer, role == warranty.Member && r.managesTokens():
		return roleNotAllowed
	}
	return answer
}

func (r row) managesTokens() bool {
	return r.operation == "tokens.create" || r.operation == "tokens.rotate" || r.operation == "tokens.revoke" ||
		r.operation == "reminders.update"
}

// TestMembersTryEverything repeats the matrix with organizations in place of people: every operation, by
// every member role of an organization with every role on the record, and by its tokens. MCP and the client ask the
// same service, so a quarter of the cells is tried through them, and all in a long run.
func TestMembersTryEverything(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		cells, refused := map[string]int{}, 0
		var s *stage
		for _, r := range rows {
			// The client enters at REST, so it is tried by the owner's staff only.
			all := slices.Concat(actors(), through("MCP", r, mcpDoor, actors()), through("the client", r, clientDoor, actors()[:6]))
			for _, c := range all {
				if !w.tries(r.operation, r.variant, c.name) ||
					c.door != nil && !testenv.Long() && !oneIn(4, r.operation, r.variant, c.name) {
					continue
				}
				if s == nil {
					w.empty()
					s = newStage(w, false)
					s.organize()
				}
				_, door, _ := strings.Cut(c.name, " through ")
				cells[door]++
				if !s.try(t, r, c) {
					refused++
				} else if r.request(s).Method != "GET" {
					s = nil // the stage was changed
				}
			}
		}
		t.Logf("cells by door: %v; %d refused", cells, refused)
	}, busy)
}

// through returns the actors of a row that has a door, with their requests sent through it.
func through(
	name string, r row, door func(*stage, row, request) servertest.Answer, who []caller,
) (list []caller) {
	op := r.spec()
	if op == nil || op.Auth == api.Public || name == "MCP" && op.Tool == "" {
		return nil
	}
	for _, c := range who {
		c.name, c.door = c.name+" through "+name, door
		list = append(list, c)
	}
	return list
}

// mcpDoor calls the tool of an operation at the MCP endpoint, and returns what REST would return.
func mcpDoor(s *stage, r row, what request) servertest.Answer {
	s.T.Helper()
	op := r.spec()
	arguments := map[string]any{}
	if body, ok := what.Body.(fields); ok {
		maps.Copy(arguments, body)
	}
	if seen, ok := what.Header["If-Match"]; ok {
		arguments["if_match"] = seen
	}
	path, query, _ := strings.Cut(what.Path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		s.T.Fatal(err)
	}
	for name := range values {
		arguments[name] = values.Get(name)
	}
	segments := strings.Split(path, "/")
	for i, segment := range strings.Split(op.Route(), "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			arguments[strings.TrimSuffix(name, "}")] = segments[i]
		}
	}
	call := fields{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": fields{"name": op.Tool, "arguments": arguments}}
	answer := s.Do(request{Method: "POST", Path: "/api/mcp", Secret: what.Secret, Header: what.Header, Body: call})
	var message struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
		Error *struct{ Data json.RawMessage }
	}
	if err := json.Unmarshal([]byte(answer.Body), &message); err != nil {
		s.T.Fatalf("%s: %v", answer.Body, err)
	}
	var problem []byte
	switch {
	case message.Error != nil:
		problem = message.Error.Data
	case message.Result.IsError:
		problem = []byte(message.Result.Content[0].Text)
	default:
		answer.Status = op.Status
		return answer
	}
	var p warranty.Problem
	if err := json.Unmarshal(problem, &p); err != nil {
		s.T.Fatalf("%s: %v", answer.Body, err)
	}
	answer.Status, answer.Body = p.Status, string(problem)
	return answer
}

// clientDoor sends the request with the Go client, like svc and svc-mcp.
func clientDoor(s *stage, r row, what request) servertest.Answer {
	s.T.Helper()
	options := []client.Option{client.WithAttempts(1)}
	if id, err := warranty.ParseID(what.Header["X-Account"]); err == nil {
		options = append(options, client.WithAccount(id))
	}
	c, err := client.New(s.HTTP.URL+string(api.V1), what.Secret, options...)
	if err != nil {
		s.T.Fatal(err)
	}
	send := api.Request{Method: what.Method, Path: what.Path}
	if what.Body != nil {
		if send.Body, err = json.Marshal(what.Body); err != nil {
			s.T.Fatal(err)
		}
	}
	response, err := c.Send(s.T.Context(), send)
	var refused *client.Error
	if err != nil && !errors.As(err, &refused) {
		s.T.Fatalf("%s: %v", r.operation, err)
	}
	return servertest.Answer{Status: response.Status, Header: response.Header, Body: string(response.Body)}
}

// spec returns the operation of a row, or nil if it is not in the table.
func (r row) spec() *api.Spec {
	for _, s := range api.Operations() {
		if s.Name == r.operation {
			return s
		}
	}
	return nil
}
