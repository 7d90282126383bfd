package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on saved replies: texts that an account uses again in messages about claims.
var (
	ListReplies = define[warranty.ListReplies, warranty.Page[warranty.SavedReply]](Spec{
		Name:    "replies.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/replies",
		Auth:    SessionOnly,
		Summary: "List the saved replies of your account, oldest first.",
	})
	CreateReply = define[warranty.CreateReply, warranty.SavedReply](Spec{
		Name:    "replies.create",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/replies",
		Auth:    SessionOnly,
		Summary: "Save a reply to use it again in messages about claims.",
		Status:  http.StatusCreated,
		Errors:  []warranty.Code{warranty.InUse},
	})
	UpdateReply = define[warranty.UpdateReply, warranty.SavedReply](Spec{
		Name:    "replies.update",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/replies/{id}",
		Auth:    SessionOnly,
		Summary: "Update the given fields of a saved reply.",
	})
	DeleteReply = define[warranty.DeleteReply, warranty.None](Spec{
		Name:    "replies.delete",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/replies/{id}",
		Auth:    SessionOnly,
		Summary: "Delete a saved reply.",
	})
)

// replyOperations are the rows of this file in the operation table.
var replyOperations = []*Spec{
	ListReplies.Spec,
	CreateReply.Spec,
	UpdateReply.Spec,
	DeleteReply.Spec,
}
