package warranty_test

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestReminderStage: the smallest number of days that is not less than what is left, at most a week late.
func TestReminderStage(t *testing.T) {
	for _, c := range []struct {
		days  string
		left  int
		stage int // 0 for none
	}{
		{"30,7", 31, 0}, {"30,7", 30, 30}, {"30,7", 23, 30}, {"30,7", 22, 0}, {"30,7", 8, 0}, {"30,7", 7, 7},
		{"30,7", 0, 7}, {"30,7", -1, 0}, {"1", 0, 1}, {"1", 1, 1}, {"1", 2, 0}, {"", 5, 0},
		{"7,30", 25, 30}, {"3,2,1", 1, 1}, {"3,2,1", 2, 2}, {"365,180,90", 100, 0}, {"365,180,90", 358, 365},
	} {
		days, err := warranty.ParseReminderDays(c.days)
		if err != nil {
			t.Fatal(err)
		}
		if stage, due := days.Stage(c.left); due != (c.stage > 0) || due && stage != c.stage {
			t.Errorf("%s with %d days left: %d, %v, want %d", c.days, c.left, stage, due, c.stage)
		}
	}
}

// TestReminderInputs checks what is typed and sent.
func TestReminderInputs(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " ": "", "30, 7,1": "30,7,1", "7;30 1": "30,7,1", "5,5,5,5,5,5": "5", "365": "365",
		"0": "out_of_range", "366": "out_of_range", "-3": "out_of_range", "1,2,3,4,5,6": "too_many",
		"x": "not a number", "7.5": "not a number", "99999999999999999999": "not a number", "٣": "not a number",
	} {
		got := ""
		days, err := warranty.ParseReminderDays(text)
		in := warranty.UpdateReminders{Days: days}
		if err == nil {
			err = in.Check()
			got = in.Days.String()
		}
		if err != nil {
			got = err.Error()
			for _, f := range warranty.AsError(err).Fields {
				got = f.Code
			}
		}
		if got != want && !strings.Contains(got, "not a number") || strings.Contains(got, "not a number") != (want == "not a number") {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for _, c := range []struct {
		in   warranty.UpdateWarrantyReminders
		want string
	}{
		{warranty.UpdateWarrantyReminders{Choice: "own"}, "days required"},
		{warranty.UpdateWarrantyReminders{Choice: "own", Days: warranty.ReminderDays{400}}, "days out_of_range"},
		{warranty.UpdateWarrantyReminders{Choice: "own", Days: warranty.ReminderDays{4}}, ""},
		{warranty.UpdateWarrantyReminders{Choice: "off", Days: warranty.ReminderDays{400}}, ""},
		{warranty.UpdateWarrantyReminders{Choice: "never"}, "choice invalid"},
		{warranty.UpdateWarrantyReminders{}, "choice required"},
	} {
		got := ""
		if err := c.in.Check(); err != nil {
			f := warranty.AsError(err).Fields[0]
			got = f.Field + " " + f.Code
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.in, got, c.want)
		}
	}
}
