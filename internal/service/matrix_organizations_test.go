package service_test

import (
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
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
	{
		operation:   "account.convert",
		sessionOnly: true,
		request: send("POST", "/api/account/organization",
			fields{"organization_name": "Shop", "name": "Nora", "email": "{new}"}),
		owner:      inUse,
		issuer:     inUse,
		seller:     inUse,
		stranger:   accepted,
		unverified: "403 email_not_verified",
	},
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
		code := store.AddressCode{Account: o.ID, Email: "service@organization.example", Expires: now.Add(time.Hour)}
		return tx.InsertAddressCode(code, warranty.HashCode(addressCode))
	})
	s.names["organization"], s.names["another member"] = o.ID.String(), s.bystander.User.ID.String()
	s.names["invitation"], s.names["invitation code"] = invitation.ID.String(), invitationCode
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

// removed stands for somebody who is not a member.
const removed warranty.MemberRole = "removed"

// actors are the callers of an organization that has a role on the record.
func actors() (list []caller) {
	for _, of := range []struct {
		name   string
		who    func(*stage) person
		answer func(row) string
	}{
		{"the owner", theOwner, func(r row) string { return r.owner }},
		{"the issuer", theIssuer, func(r row) string { return r.issuer }},
		{"the seller", theSeller, func(r row) string { return r.seller }},
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
			expected: func(r row) string { return r.token(of.answer(r)) },
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
	var op *api.Spec
	for _, s := range api.Operations() {
		if s.Name == r.operation {
			op = s
		}
	}
	writes := op == nil && r.operation != "documents.download" || op != nil && op.Method != "GET" && !op.ReadOnly
	switch {
	case r.public:
		return r.owner
	case role == removed:
		return accountNotAllowed
	case op != nil && !op.ActsForAccount() || !writes: // about the person, or a read
		return answer
	case role == warranty.Viewer, role == warranty.Member && r.managesTokens():
		return roleNotAllowed
	}
	return answer
}

func (r row) managesTokens() bool {
	return r.operation == "tokens.create" || r.operation == "tokens.rotate" || r.operation == "tokens.revoke"
}

// TestMembersTryEverything repeats the matrix with organizations in place of people: every operation, by
// every member role of an organization with every role on the record, and by its tokens.
func TestMembersTryEverything(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		cells, refused := 0, 0
		var s *stage
		for _, r := range rows {
			for _, c := range actors() {
				if s == nil {
					w.empty()
					s = newStage(w, false)
					s.organize()
				}
				cells++
				if !s.try(t, r, c) {
					refused++
				} else if r.request(s).Method != "GET" {
					s = nil // the stage was changed
				}
			}
		}
		t.Logf("%d cells, %d refused", cells, refused)
	}, busy)
}
