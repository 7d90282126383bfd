package web

import (
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// replyList is the page of saved replies.
type replyList struct {
	form
	Page warranty.Page[warranty.SavedReply]
	// Editing is the reply whose form has the errors, or the zero ID for the form of a new one.
	Editing warranty.ID
}

func (web *Web) showReplies(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	in := warranty.ListReplies{Paging: warranty.Paging{Page: 1, Limit: warranty.MaxReplies}}
	page, err := web.Service.ListReplies(r.Context(), who, in)
	if err != nil {
		return err
	}
	list := replyList{form: f, Page: page}
	if id, err := warranty.ParseID(r.PathValue("id")); err == nil {
		list.Editing = id
	}
	v := view.Page{Title: web.t(r, "replies.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: list}
	return web.show(w, r, f.status, "replies", v)
}

const repliesPage = "/settings/replies"

func (web *Web) createReply(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.CreateReply, warranty.SavedReply]{
		op:    api.CreateReply,
		do:    web.Service.CreateReply,
		again: web.showReplies,
		next:  func(form, warranty.SavedReply) string { return repliesPage + "?done=reply_saved" },
	})
}

func (web *Web) updateReply(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.UpdateReply, warranty.SavedReply]{
		op:    api.UpdateReply,
		do:    web.Service.UpdateReply,
		again: web.showReplies,
		next:  func(form, warranty.SavedReply) string { return repliesPage + "?done=reply_saved" },
	})
}

func (web *Web) deleteReply(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, repliesPage+"?done=reply_deleted", warranty.ParseID, func(id warranty.ID) error {
		_, err := web.Service.DeleteReply(r.Context(), who, warranty.DeleteReply{ID: id})
		return err
	})
}
