package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// memberList is the page /settings/members.
type memberList struct {
	Members     []memberRow
	Invitations []warranty.Invitation
	OnlyAdmin   bool // the person is the only admin and cannot leave
	Pager       pager
}

// memberRow is a member as it is shown.
type memberRow struct {
	warranty.Membership
	You  bool
	Seen string // time since the last sign-in
}

func (web *Web) memberRow(words view.Reader, m warranty.Membership, who warranty.Principal) memberRow {
	row := memberRow{Membership: m, You: m.UserID == who.User.ID}
	if m.LastSignInAt != nil {
		row.Seen = web.ago(words, *m.LastSignInAt)
	}
	return row
}

func (web *Web) members(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	all, err := web.allMembers(r.Context(), who)
	if err != nil {
		return err
	}
	paging := pagingOf(r.URL.Query(), listPage)
	from := min((paging.Page-1)*paging.Limit, len(all))
	shown := all[from:min(from+paging.Limit, len(all))]
	body := memberList{
		OnlyAdmin: onlyAdmin(all, who.User.ID),
		Pager:     newPager(r.URL, warranty.PageOf(shown, paging, int64(len(all))).Pagination),
	}
	for _, m := range shown {
		body.Members = append(body.Members, web.memberRow(web.reader(r), m, who))
	}
	open := warranty.ListInvitations{Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}, ID: who.Account.ID}
	invitations, err := web.Service.ListInvitations(r.Context(), who, open)
	if err != nil {
		return err
	}
	body.Invitations = invitations.Data
	v := view.Page{Title: web.t(r, "members.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "members", v)
}

// allMembers returns all members of the organization that the person acts for. There are at most
// MaxMembers.
func (web *Web) allMembers(ctx context.Context, who warranty.Principal) (all []warranty.Membership, err error) {
	in := warranty.ListMembers{Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}, ID: who.Account.ID}
	for ; ; in.Page++ {
		list, err := web.Service.ListMembers(ctx, who, in)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Data...)
		if int64(in.Page) >= list.Pagination.TotalPages {
			return all, nil
		}
	}
}

// onlyAdmin reports whether a member is the only admin who is not disabled.
func onlyAdmin(all []warranty.Membership, user warranty.ID) bool {
	is := false
	for _, m := range all {
		switch {
		case m.UserID == user:
			is = m.Role == warranty.Admin
		case m.Role == warranty.Admin && !m.Disabled:
			return false
		}
	}
	return is
}

// roleChoice is a role of a member to choose.
type roleChoice struct {
	Role string
	On   bool
}

func roleChoices(chosen string) (list []roleChoice) {
	for _, name := range warranty.MemberRole("").Values() {
		list = append(list, roleChoice{name, name == chosen})
	}
	return list
}

// memberPage is the page of a member, with the forms that change the role and remove the member.
type memberPage struct {
	memberRow
	form
	Roles     []roleChoice
	OnlyAdmin bool
	Printed   int64 // printed codes that the member made and that can be used
}

func (web *Web) showMember(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	id, err := warranty.ParseID(r.PathValue("user_id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	all, err := web.allMembers(r.Context(), who)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.UserID != id {
			continue
		}
		p := memberPage{
			memberRow: web.memberRow(web.reader(r), m, who),
			form:      f,
			Roles:     roleChoices(m.Role.String()),
			OnlyAdmin: onlyAdmin(all, id),
		}
		printed := warranty.ListPrintedCodes{Paging: warranty.Paging{Page: 1, Limit: 1}, ID: who.Account.ID, MadeBy: &id}
		codes, err := web.Service.ListPrintedCodes(r.Context(), who, printed)
		if err != nil {
			return err
		}
		p.Printed = codes.Pagination.Total
		v := view.Page{Title: m.Name, Nav: "settings", Who: who, Flash: view.Flash(r), Body: p}
		return web.show(w, r, f.status, "member", v)
	}
	return warranty.ErrNotFound
}

func (web *Web) updateMember(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.UpdateMember, warranty.Membership]{
		op:    api.UpdateMember,
		do:    web.Service.UpdateMember,
		again: web.showMember,
		next:  func(form, warranty.Membership) string { return "/settings/members?done=role_changed" },
	})
}

// removeMember removes a member, or the person themselves: they then act for their own account.
func (web *Web) removeMember(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.RemoveMember, warranty.None]{
		op: api.RemoveMember,
		prepare: func(f form) error {
			f.Values.Set("keep_tokens", strconv.FormatBool(!f.Has("revoke_tokens", "true")))
			return nil
		},
		do:    web.Service.RemoveMember,
		again: web.showMember,
		done: func(form, warranty.None) error {
			if r.PathValue("user_id") != who.User.ID.String() {
				return redirect(w, r, "/settings/members?done=member_removed")
			}
			web.clearAccount(w)
			return redirect(w, r, "/settings/organizations?done=left")
		},
	})
}

// invitationForm is the form that invites a member.
type invitationForm struct {
	form
	Roles []roleChoice
}

func (web *Web) newInvitation(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	values := url.Values{"role": {warranty.Member.String()}, "once": {web.Service.NewID().String()}}
	return web.showInvite(w, r, who, form{Values: values})
}

func (web *Web) showInvite(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	body := invitationForm{form: f, Roles: roleChoices(f.Value("role"))}
	v := view.Page{Title: web.t(r, "members.invite"), Nav: "settings", Who: who, Body: body}
	return web.show(w, r, f.status, "member-invite", v)
}

func (web *Web) invite(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	var key *string
	return submit(web, w, r, who, action[warranty.CreateInvitation, warranty.Invitation]{
		op:      api.CreateInvitation,
		prepare: func(f form) error { key = f.once(); return nil },
		do: func(
			ctx context.Context, who warranty.Principal, in warranty.CreateInvitation,
		) (warranty.Invitation, error) {
			in.IdempotencyKey = key
			return web.Service.CreateInvitation(ctx, who, in)
		},
		again: web.showInvite,
		next:  func(form, warranty.Invitation) string { return "/settings/members?done=invited" },
	})
}

func (web *Web) cancelInvitation(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.CancelInvitation, warranty.None]{
		op:   api.CancelInvitation,
		do:   web.Service.CancelInvitation,
		next: func(form, warranty.None) string { return "/settings/members?done=invitation_cancelled" },
	})
}

// invitationPage is the page that the emails of invitations name.
const invitationPage = "/invitations/accept"

func (web *Web) showAcceptInvitation(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	v := view.Page{Title: web.t(r, "invitation.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Next: invitationPage, Body: f}
	return web.show(w, r, f.status, "invitation-accept", v)
}

// acceptInvitation makes the person a member and acts for the organization.
func (web *Web) acceptInvitation(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.AcceptInvitation, warranty.Organization]{
		op:    api.AcceptInvitation,
		do:    web.Service.AcceptInvitation,
		again: web.showAcceptInvitation,
		done: func(_ form, o warranty.Organization) error {
			return web.enter(w, r, who, o.ID, "/?done=joined")
		},
	})
}
