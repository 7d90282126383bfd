package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on reminders: when an account is emailed about the end of warranties.
var (
	GetReminders = define[warranty.GetReminders, warranty.Reminders](Spec{
		Name:    "reminders.get",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/reminders",
		Auth:    SessionOnly,
		Summary: "Get when your account is reminded of the end of its warranties.",
	})
	UpdateReminders = define[warranty.UpdateReminders, warranty.Reminders](Spec{
		Name:    "reminders.update",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/reminders",
		Auth:    SessionOnly,
		Summary: "Choose when your account is reminded of the end of its warranties. In an organization, only admins can.",
	})
	GetWarrantyReminders = define[warranty.GetWarrantyReminders, warranty.WarrantyReminders](Spec{
		Name:    "reminders.get_warranty",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/warranties/{id}/reminders",
		Auth:    SessionOnly,
		Summary: "Get the reminders of your account for one warranty.",
	})
	UpdateWarrantyReminders = define[warranty.UpdateWarrantyReminders, warranty.WarrantyReminders](Spec{
		Name:    "reminders.update_warranty",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/warranties/{id}/reminders",
		Auth:    SessionOnly,
		Summary: "Choose the reminders of your account for one warranty. The choices of others do not change.",
	})
)

// reminderOperations are the rows of this file in the operation table.
var reminderOperations = []*Spec{
	GetReminders.Spec,
	UpdateReminders.Spec,
	GetWarrantyReminders.Spec,
	UpdateWarrantyReminders.Spec,
}
