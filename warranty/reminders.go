package warranty

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of reminders.
const (
	MaxReminders   = 5   // days that an account can choose
	MaxReminderDay = 365 // days before the end
	// ReminderGrace is how many days late a reminder may be: because the service was down, or because the
	// record or the choice is newer than the day of the reminder. Older ones are not sent.
	ReminderGrace = 7
)

// ReminderDays are numbers of days before the end of a warranty, largest first.
type ReminderDays []int

// DefaultReminderDays returns the choice of accounts that did not choose.
func DefaultReminderDays() ReminderDays { return ReminderDays{30, 7} }

// ParseReminderDays parses numbers that are separated by commas or spaces.
func ParseReminderDays(text string) (ReminderDays, error) {
	days := ReminderDays{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("not a number of days: %w", err)
		}
		days = append(days, n)
	}
	return days, nil
}

// String returns the days separated by commas, as they are stored.
func (d ReminderDays) String() string {
	words := make([]string, len(d))
	for i, n := range d {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// Stage returns the reminder that is due for a warranty that ends in some days: the smallest number of days
// that is not less. A reminder that is more than ReminderGrace days late is not sent.
func (d ReminderDays) Stage(left int) (stage int, due bool) {
	for _, n := range d {
		if n >= left && (!due || n < stage) {
			stage, due = n, true
		}
	}
	return stage, due && left >= 0 && stage-left <= ReminderGrace
}

// reminderDays validates days and returns them in order, without duplicates.
func (c *Checks) reminderDays(field string, days ReminderDays) ReminderDays {
	days = slices.Clone(days)
	slices.Sort(days)
	slices.Reverse(days)
	days = slices.Compact(days)
	switch {
	case len(days) > MaxReminders:
		c.Add(field, "too_many", "Choose at most %d different numbers of days.", MaxReminders)
	case len(days) > 0 && (days[0] > MaxReminderDay || days[len(days)-1] < 1):
		c.Add(field, "out_of_range", "Each must be between 1 and %d days.", MaxReminderDay)
	}
	return days
}

// GetReminders is the input of reminders.get.
type GetReminders struct{}

// Reminders are the choice of an account for the warranties that it owns.
type Reminders struct {
	Days   ReminderDays `json:"days" doc:"Numbers of days before the end of a warranty, largest first. Empty means no reminders."`
	Weekly bool         `json:"weekly" doc:"Whether one email a week, on Monday, replaces the reminders."`
}

// UpdateReminders is the input of reminders.update. Fields that are not given stay as they are.
type UpdateReminders struct {
	Days   ReminderDays `json:"days,omitempty" max:"5" doc:"Up to 5 numbers of days before the end of a warranty, from 1 to 365. An empty list means no reminders."`
	Weekly *bool        `json:"weekly,omitempty" doc:"Whether one email a week, on Monday, replaces the reminders."`
}

// Check validates the input.
func (in *UpdateReminders) Check() error {
	var c Checks
	if in.Days != nil {
		in.Days = c.reminderDays("days", in.Days)
	}
	return c.Err()
}

// Apply returns the updated choice.
func (in UpdateReminders) Apply(r Reminders) Reminders {
	if in.Days != nil {
		r.Days = in.Days
	}
	set(&r.Weekly, in.Weekly)
	return r
}

// ReminderChoice says which reminders an account gets for one warranty.
type ReminderChoice string

// The choices.
const (
	AccountReminders ReminderChoice = "account"
	OwnReminders     ReminderChoice = "own"
	NoReminders      ReminderChoice = "off"
)

var reminderChoiceNames = namesOf(AccountReminders, OwnReminders, NoReminders)

// Values lists the known choices.
func (ReminderChoice) Values() []string { return reminderChoiceNames }

// String returns the choice's name.
func (c ReminderChoice) String() string { return string(c) }

// GetWarrantyReminders is the input of reminders.get_warranty.
type GetWarrantyReminders struct {
	ID WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
}

// WarrantyReminders are the reminders that an account gets for one warranty.
type WarrantyReminders struct {
	Choice ReminderChoice `json:"choice" doc:"account: as for all warranties that the account owns; own: on these days; off: never."`
	Days   ReminderDays   `json:"days" doc:"Numbers of days before the end on which reminders are sent. Empty means none. With the choice account, an account that does not own the warranty gets none, and a weekly email replaces them."`
}

// UpdateWarrantyReminders is the input of reminders.update_warranty.
type UpdateWarrantyReminders struct {
	ID     WarrantyKey    `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
	Choice ReminderChoice `json:"choice,omitzero" required:"true" doc:"account: as for all warranties that the account owns; own: on the given days; off: never." example:"off"`
	Days   ReminderDays   `json:"days,omitempty" max:"5" doc:"With the choice own: up to 5 numbers of days before the end, from 1 to 365."`
}

// Check validates the input. Days are ignored unless they are chosen.
func (in *UpdateWarrantyReminders) Check() error {
	var c Checks
	switch in.Choice {
	case OwnReminders:
		if in.Days = c.reminderDays("days", in.Days); len(in.Days) == 0 {
			c.Add("days", "required", "Enter at least one number of days, such as 30, 7.")
		}
	case AccountReminders, NoReminders:
		in.Days = ReminderDays{}
	case "":
		c.Add("choice", "required", "This field is required.")
	default:
		c.Add("choice", "invalid", "Must be account, own or off.")
	}
	return c.Err()
}
